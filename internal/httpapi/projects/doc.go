// Package projects serves projects: their revisions and archives, how they are pushed, their workflows, files and
// secrets, and checks of files that are not pushed yet. It does not depend on other groups of endpoints.
package projects

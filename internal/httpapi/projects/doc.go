// Package projects serves projects: their revisions and archives, pushes, workflows, files and secrets, and checks of
// files that have not been pushed yet. It does not depend on other groups of endpoints.
package projects

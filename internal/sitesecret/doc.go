// Package sitesecret keeps the secrets of a site, which many projects use: it stores them as secrets of a project that
// does not exist, with the names of the projects that may use each, and gives them to the tasks of these projects.
package sitesecret

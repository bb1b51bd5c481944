// Package sitesecret keeps the secrets that a site's projects share: it stores them as secrets of a project that does
// not exist, with the names of the projects that may use each secret, and passes them to the tasks of these projects.
package sitesecret

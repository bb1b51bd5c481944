// Package packages builds a release twice, installs it in every way, installs its deb into a separate folder with dpkg,
// runs the server as in its unit, and upgrades it: settings and data stay.
//
// It must never install anything on the machine itself.
package packages

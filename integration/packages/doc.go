// Package packages builds a release twice, installs its deb into a folder of its own as dpkg does, runs the server as
// its unit says, and upgrades it: settings and data stay.
//
// It must never install anything into this machine.
package packages

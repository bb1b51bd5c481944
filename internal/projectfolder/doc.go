// Package projectfolder reads a project's folder for commands that run, check, push or archive it: it finds workflows,
// warns about likely mistakes and keeps a server's data out of archives. It also creates such a folder, from a sample
// or from an archive.
//
// It never runs a task and never contacts a server.
package projectfolder

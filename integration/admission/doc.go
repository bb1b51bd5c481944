// Package admission compares what `zerodag check` finds in a project's folder with a server's response to a push of
// that folder.
//
// It must never use the code with which either of them decides: it only compares their results.
package admission

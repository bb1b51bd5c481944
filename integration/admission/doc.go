// Package admission compares what `zerodag check` finds in a project's folder with what a server does with a push of
// that folder.
//
// It must never read what decides in either of them: it only compares their answers.
package admission

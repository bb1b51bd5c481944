// Package remedy suggests fixes for errors: the nearest existing name, zerodag's name for another program's command or
// option, and the right syntax of an operator.
//
// Commands that print errors call it. It reads messages and names only: it never contacts a server and never changes an
// error.
package remedy

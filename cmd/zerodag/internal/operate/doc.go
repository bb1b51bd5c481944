// Package operate contains the commands for operators of a server: `admin`, `aws`, `pool`, `secrets` and `tokens`.
//
// The root of the program registers them. They bind options, call the packages that do the work, and print; they must
// never decide anything about tasks.
package operate

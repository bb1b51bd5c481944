// Package operate is the commands for who runs a server: `admin`, `aws`, `pool`, `secrets` and `tokens`.
//
// The root of the program registers them. They bind options, call what does the work and print, and must never decide anything about tasks.
package operate

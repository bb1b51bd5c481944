// Package transfer is the commands that move what a server has, or what another program wrote, elsewhere: `import`, `migrate`, `backup` and
// `restore`.
//
// The root of the program registers them. They bind options, call what does the work and print, and must never decide anything about tasks.
package transfer

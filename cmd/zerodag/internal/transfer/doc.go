// Package transfer contains the commands that move data of a server, or files of another program: `import`, `migrate`,
// `backup` and `restore`.
//
// The root of the program registers them. They bind options, call the packages that do the work, and print; they must
// never decide anything about tasks.
package transfer

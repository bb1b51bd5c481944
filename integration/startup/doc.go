// Package startup checks the cost of the program's start: what packages initialize before main, memory, threads and
// system calls, of a local run and of a server until its first response.
//
// Counts do not depend on how busy a machine is, so they are compared with recorded figures. Times and the resident set
// are not compared: how much of the program's file is mapped at once depends on the system.
package startup

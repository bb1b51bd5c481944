// Package term formats output for users: tables, pages, live pictures, progress bars, times and durations. On a
// terminal, it uses the width and colors; elsewhere it writes plain text.
//
// Text from outside (names, logs, server errors) passes through Guard on its way to a terminal. Guard keeps colors and
// makes all other control sequences readable.
//
// Only the command line uses it. It must not depend on workflows, servers or options.
package term

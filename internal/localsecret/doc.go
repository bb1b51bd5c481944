// Package localsecret stores the secrets of the user's machine, one file for each, readable only by the owner. It also
// finds the credentials that the command lines of Treasure Data and Google have stored.
//
// `zerodag run` reads these secrets and `zerodag secrets --local` changes them. It has no access to a server's secrets.
package localsecret

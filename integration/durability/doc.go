// Package durability holds the tests that kill a real server at random moments, fill its disk or stop it, and then
// check whether anything that was acknowledged is lost, duplicated or out of order. `make test` kills 20 times, `make
// soak` 100 times.
//
// It must need only the program that integration/server builds.
package durability

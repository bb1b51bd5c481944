// Package host defines the vocabulary between the engine and the world: the ports that each deployment's drivers
// implement, the records that they keep, the names of messages, and the errors.
//
// Drivers import it to implement it; delivery, catalogue and node import it to use it. It must not contain rules about
// attempts, and must never import a store, an SDK or one of these three packages.
//
// Each port has one contract suite in package hosttest that every driver passes.
package host

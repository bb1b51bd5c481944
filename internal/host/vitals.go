package host

// Vitals shows how full a single-node server is.
type Vitals struct {
	Database   int64 // bytes of its database; 0 in memory
	Free       int64 // bytes free where its data is stored; 0 if the system does not report it
	Unfinished int   // attempts of all sites
	Events     int   // messages of the queue "events" that are due
	Tasks      int   // due messages of the queue "tasks", including running tasks
}

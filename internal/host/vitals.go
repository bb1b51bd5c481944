package host

// Vitals say how full a server on one machine is.
type Vitals struct {
	Database   int64 // bytes of the files of its database
	Free       int64 // bytes that are free where its data lies; 0 where the system does not say
	Unfinished int   // attempts of all sites
	Events     int   // messages of the queue "events" that are due
	Tasks      int   // and of the queue "tasks", with those that run
}

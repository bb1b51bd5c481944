package configuration

// Values of the keys that select where a server stores data that it shares with other servers.
const (
	PostgreSQL = "postgresql" // database.type
	InS3       = "s3"         // archive.type, log-server.type
	InDatabase = "db"         // archive.type, log-server.type
	InFolder   = "local"      // archive.type, log-server.type
	Nowhere    = "null"       // log-server.type
)

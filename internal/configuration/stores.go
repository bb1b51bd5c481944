package configuration

// Values of keys that select where a server stores the data that it shares with others.
const (
	PostgreSQL = "postgresql" // database.type
	InS3       = "s3"         // archive.type, log-server.type
	InDatabase = "db"         // archive.type, log-server.type
	InFolder   = "local"      // archive.type, log-server.type
	Nowhere    = "null"       // log-server.type
)

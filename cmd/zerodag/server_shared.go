package main

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"zerodag/internal/embedded"
	"zerodag/internal/postgres"
	"zerodag/internal/shared"
)

// Values of keys that say where a server keeps what it shares with others.
const (
	postgresql = "postgresql" // database.type
	inS3       = "s3"         // archive.type, log-server.type
	inDatabase = "db"         // archive.type, log-server.type
	inFolder   = "local"      // archive.type, log-server.type
	nowhere    = "null"       // log-server.type
)

// ownServerFolder is where a server that shares its database keeps what is its own, unless it is told otherwise.
const ownServerFolder = "zerodag-server"

// shares says whether the server keeps its data in a database that it shares with others.
func (c *serverCommand) shares(s settings) bool {
	return c.local == nil && !c.memory && c.database == "" && strings.TrimSpace(s["database.type"]) == postgresql
}

// contradicts is an error where options and configuration name two places for the data.
func (c *serverCommand) contradicts(s settings) error {
	if strings.TrimSpace(s["database.type"]) != postgresql || c.acceptLocal || !c.memory && c.database == "" {
		return nil
	}
	option := "--database"
	if c.memory {
		option = "--memory"
	}
	return usageError{fmt.Errorf("%s and database.type = postgresql of the configuration name two places for the data: leave out one of them", option)}
}

// sharedOptions reads what the server shares with others (docs/servers.md). The names of keys are Digdag's.
func sharedOptions(r *reading, own embedded.Options) (shared.Options, error) {
	database, err := databaseOptions(r)
	if err != nil {
		return shared.Options{}, err
	}
	database.Migrate, database.SecretKey, database.Now = own.Migrate, own.SecretKey, own.Now
	database.Types = own.Limits.Types
	o := shared.Options{Database: database, AgentID: own.AgentID, LogForm: own.LogForm}
	switch r.oneOf("archive.type", inDatabase, inS3, inFolder) {
	case inS3:
		o.Archives.Bucket, err = bucket(r, "archive.s3.")
	case inFolder:
		o.Archives.Folder, err = sharedFolder(r, "archive.local.path")
	}
	if err != nil {
		return o, err
	}
	switch kind := r.oneOf("log-server.type", inDatabase, inS3, inFolder, nowhere); kind {
	case inS3:
		o.Logs.Bucket, err = bucket(r, "log-server.s3.")
	case inFolder:
		o.Logs.Folder, err = sharedFolder(r, "log-server.local.path")
	case nowhere:
		o.NoLogs = true
	}
	return o, err
}

// connections is how many a server has to its database.
const connections = 20

// databaseOptions reads where the database is.
func databaseOptions(r *reading) (postgres.Options, error) {
	address, err := databaseURL(r, "database.")
	return postgres.Options{URL: address, Schema: r.text("database.schema", ""), Connections: r.number("database.maximumPoolSize", connections)}, err
}

// databaseURL is the address of a PostgreSQL database in the form of its own tools. Of several hosts the one that takes
// writes is used, as after a failover.
func databaseURL(r *reading, below string) (string, error) {
	required := map[string]string{}
	for _, key := range []string{"host", "user", "database"} {
		if required[key] = r.text(below+key, ""); required[key] == "" {
			return "", fmt.Errorf("configuration key %s is missing: database.type = postgresql needs host, user and database", below+key)
		}
	}
	port := strconv.Itoa(r.port(below+"port", 5432))
	var hosts []string
	for host := range strings.SplitSeq(required["host"], ",") {
		host = strings.TrimSpace(host)
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		hosts = append(hosts, host)
	}
	query := url.Values{"application_name": {"zerodag"}, "connect_timeout": {strconv.Itoa(r.number(below+"loginTimeout", 30))}}
	if len(hosts) > 1 {
		query.Set("target_session_attrs", "read-write")
	}
	mode := r.text(below+"sslmode", "")
	if mode == "" && r.bool(below+"ssl", false) {
		mode = "require" // what the original's default, a factory that validates nothing, comes to
	}
	for key, value := range map[string]string{"sslmode": mode, "sslcert": r.text(below+"sslcert", ""), "sslkey": r.text(below+"sslkey", ""), "sslrootcert": r.text(below+"sslrootcert", "")} {
		if value != "" {
			query.Set(key, value)
		}
	}
	u := url.URL{Scheme: "postgres", Host: strings.Join(hosts, ","), User: url.User(required["user"]), Path: "/" + required["database"], RawQuery: query.Encode()}
	if password := r.text(below+"password", ""); password != "" {
		u.User = url.UserPassword(required["user"], password)
	}
	return u.String(), nil
}

// bucket reads where in S3 something is kept.
func bucket(r *reading, below string) (*shared.Bucket, error) {
	b := &shared.Bucket{Name: r.text(below+"bucket", ""), Folder: strings.Trim(r.text(below+"path", ""), "/"), Endpoint: r.text(below+"endpoint", ""), Region: r.text(below+"region", ""),
		AccessKeyID: r.text(below+"credentials.access-key-id", ""), SecretAccessKey: r.text(below+"credentials.secret-access-key", ""), Links: r.bool(below+"direct_download", false)}
	r.bool(below+"path-style-access", true) // a store with an endpoint is addressed so
	if b.Folder != "" {
		b.Folder += "/"
	}
	if b.Name == "" {
		return nil, fmt.Errorf("configuration key %sbucket is missing", below)
	}
	if (b.AccessKeyID == "") != (b.SecretAccessKey == "") {
		return nil, fmt.Errorf("configuration keys %[1]scredentials.access-key-id and %[1]scredentials.secret-access-key belong together, and one is missing", below)
	}
	if b.Endpoint != "" {
		if !strings.Contains(b.Endpoint, "://") {
			b.Endpoint = "https://" + b.Endpoint
		}
		if u, err := url.Parse(b.Endpoint); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fmt.Errorf("configuration key %sendpoint must be the address of a store, as https://store.example.com", below)
		}
	}
	return b, nil
}

// sharedFolder reads a folder that all servers see.
func sharedFolder(r *reading, key string) (string, error) {
	folder := r.text(key, "")
	if folder == "" {
		return "", fmt.Errorf("configuration key %s is missing: servers that share a database need a folder that all of them see, or leave out its type to use the database", key)
	}
	r.notes = append(r.notes, key+" = "+folder+" must be a folder that all servers of this database see")
	return folder, nil
}

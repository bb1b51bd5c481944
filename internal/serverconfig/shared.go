package serverconfig

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"zerodag/internal/configuration"
	"zerodag/internal/embedded"
	"zerodag/internal/postgres"
	"zerodag/internal/program"
	"zerodag/internal/shared"
)

// ownServerFolder is the default folder for the data that a server with a shared database does not share.
const ownServerFolder = "zerodag-server"

// shares reports whether the server keeps its data in a database that it shares with others.
func (c *CommandLine) shares(s configuration.Settings) bool {
	return c.Project == "" && !c.memory && c.database == "" && strings.TrimSpace(s["database.type"]) == configuration.PostgreSQL
}

// contradicts returns an error if the options and the configuration name different places for the data.
func (c *CommandLine) contradicts(s configuration.Settings) error {
	if strings.TrimSpace(s["database.type"]) != configuration.PostgreSQL || c.acceptLocal || !c.memory && c.database == "" {
		return nil
	}
	option := "--database"
	if c.memory {
		option = "--memory"
	}
	return program.UsageError(fmt.Errorf("%s and database.type = postgresql in the configuration set two places for the data: remove one of them", option))
}

// sharedOptions reads the settings for data that the server shares with others (docs/servers.md). The keys have
// Digdag's names.
func sharedOptions(r *configuration.Reading, own embedded.Options) (shared.Options, error) {
	database, err := Database(r)
	if err != nil {
		return shared.Options{}, err
	}
	database.Migrate, database.SecretKeys, database.Now = own.Migrate, own.SecretKeys, own.Now
	database.Types = own.Limits.Types
	o := shared.Options{Database: database, AgentID: own.AgentID, LogForm: own.LogForm}
	switch r.OneOf("archive.type", configuration.InDatabase, configuration.InS3, configuration.InFolder) {
	case configuration.InS3:
		o.Archives.Bucket, err = bucket(r, "archive.s3.")
	case configuration.InFolder:
		o.Archives.Folder, err = sharedFolder(r, "archive.local.path")
	}
	if err != nil {
		return o, err
	}
	switch kind := r.OneOf("log-server.type", configuration.InDatabase, configuration.InS3, configuration.InFolder, configuration.Nowhere); kind {
	case configuration.InS3:
		o.Logs.Bucket, err = bucket(r, "log-server.s3.")
	case configuration.InFolder:
		o.Logs.Folder, err = sharedFolder(r, "log-server.local.path")
	case configuration.Nowhere:
		o.NoLogs = true
	}
	return o, err
}

// connections is the number of a server's connections to its database.
const connections = 20

// Database reads the address of the database that several servers share.
func Database(r *configuration.Reading) (postgres.Options, error) {
	address, err := databaseURL(r, "database.")
	return postgres.Options{URL: address, Schema: r.Text("database.schema", ""), Connections: r.Number("database.maximumPoolSize", connections)}, err
}

// databaseURL returns the address of a PostgreSQL database in the form that PostgreSQL's tools use. If there are
// several hosts, the primary is used, for example after a failover.
func databaseURL(r *configuration.Reading, below string) (string, error) {
	required := map[string]string{}
	for _, key := range []string{"host", "user", "database"} {
		if required[key] = r.Text(below+key, ""); required[key] == "" {
			return "", fmt.Errorf("configuration key %s is missing: database.type = postgresql needs host, user and database", below+key)
		}
	}
	port := strconv.Itoa(r.Port(below+"port", 5432))
	var hosts []string
	for host := range strings.SplitSeq(required["host"], ",") {
		host = strings.TrimSpace(host)
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		hosts = append(hosts, host)
	}
	query := url.Values{"application_name": {"zerodag"}, "connect_timeout": {strconv.Itoa(r.Number(below+"loginTimeout", 30))}}
	if len(hosts) > 1 {
		query.Set("target_session_attrs", "read-write")
	}
	mode := tlsMode(r, below, hosts)
	if slices.Contains([]string{"disable", "allow", "prefer"}, mode) && !allLocal(hosts) {
		query.Set("require_auth", "!password,!md5") // only with TLS, where no one on the path can read it
	}
	for key, value := range map[string]string{"sslmode": mode, "sslcert": r.Text(below+"sslcert", ""), "sslkey": r.Text(below+"sslkey", ""), "sslrootcert": r.Text(below+"sslrootcert", "")} {
		if value != "" {
			query.Set(key, value)
		}
	}
	u := url.URL{Scheme: "postgres", Host: strings.Join(hosts, ","), User: url.User(required["user"]), Path: "/" + required["database"], RawQuery: query.Encode()}
	if password := r.Text(below+"password", ""); password != "" {
		u.User = url.UserPassword(required["user"], password)
	}
	return u.String(), nil
}

// tlsMode returns the TLS mode for a database. Connections to another machine use TLS unless the configuration disables
// it, because without TLS, an attacker on the path could pose as the database to get the password.
func tlsMode(r *configuration.Reading, below string, hosts []string) string {
	mode, given := r.Text(below+"sslmode", ""), r.Text(below+"ssl", "") != ""
	switch on := r.Bool(below+"ssl", false); {
	case mode != "":
	case on: // equivalent to Digdag's default, a factory that validates nothing
		mode = "require"
	case given:
		mode = "disable"
	case !allLocal(hosts):
		mode = "require"
	}
	if mode == "require" && !allLocal(hosts) {
		r.Note("the certificate of the database is not checked (" + below + "sslmode = require): verify-full checks it, with the certificate of its authority in " + below + "sslrootcert")
	}
	return mode
}

// allLocal reports whether all hosts, given with or without ports, are this machine.
func allLocal(hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool {
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			name = host
		}
		address, err := netip.ParseAddr(name)
		return name != "localhost" && !strings.HasPrefix(name, "/") && (err != nil || !address.IsLoopback())
	})
}

// bucket reads where data is kept in S3.
func bucket(r *configuration.Reading, below string) (*shared.Bucket, error) {
	b := &shared.Bucket{Name: r.Text(below+"bucket", ""), Folder: strings.Trim(r.Text(below+"path", ""), "/"), Endpoint: r.Text(below+"endpoint", ""), Region: r.Text(below+"region", ""),
		AccessKeyID: r.Text(below+"credentials.access-key-id", ""), SecretAccessKey: r.Text(below+"credentials.secret-access-key", ""), Links: r.Bool(below+"direct_download", false)}
	r.Bool(below+"path-style-access", true) // the default for stores with an endpoint
	if b.Folder != "" {
		b.Folder += "/"
	}
	if b.Name == "" {
		return nil, fmt.Errorf("configuration key %sbucket is missing", below)
	}
	if (b.AccessKeyID == "") != (b.SecretAccessKey == "") {
		return nil, fmt.Errorf("configuration keys %[1]scredentials.access-key-id and %[1]scredentials.secret-access-key must be set together, but one is missing", below)
	}
	if b.Endpoint != "" {
		if !strings.Contains(b.Endpoint, "://") {
			b.Endpoint = "https://" + b.Endpoint
		}
		if u, err := url.Parse(b.Endpoint); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fmt.Errorf("configuration key %sendpoint must be the address of a store, such as https://store.example.com", below)
		}
	}
	return b, nil
}

// sharedFolder reads a folder that all servers can access.
func sharedFolder(r *configuration.Reading, key string) (string, error) {
	folder := r.Text(key, "")
	if folder == "" {
		return "", fmt.Errorf("configuration key %s is missing: servers that share a database need a folder that all of them can access; remove its type to use the database instead", key)
	}
	r.Note(key + " = " + folder + " must be a folder that all servers of this database can access")
	return folder, nil
}

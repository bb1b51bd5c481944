package sql

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Kind is a kind of database.
type Kind struct {
	Name    string // of the operator and of its exported defaults: "pg"
	Secrets string // prefix of its secrets: "pg"
	Port    int64  // default port

	// Redshift marks Amazon Redshift: its pg_type does not describe types, schemas are set by a statement, and
	// statements begin with a comment that names the task, since sessions have no names there.
	Redshift bool

	// Flat means that databases have no schemas below them, so that there is no setting for a schema.
	Flat bool
}

// Server is the server of a task's database, with the login.
type Server struct {
	host, database         string
	port                   uint16
	user, password, schema string
	ssl                    bool
	connectTime            time.Duration
	network                operators.Network
	silence                time.Duration // how long the server may be silent; 0 for no limit
	Application            string        // the name under which the server knows this task
	project                string
	kind                   Kind
	secrets                []string
	hide                   *strings.Replacer // of secrets
}

// settings are read from secrets first, for example `pg.KEY`, then from parameters.
var settings = [...]string{"host", "port", "user", "database", "ssl", "schema", "connect_timeout", "socket_timeout"}

// Find determines the server of a task's database.
func (k Kind) Find(t *operators.Task, p *operators.Params) (*Server, error) {
	found := param.New()
	var secrets []string
	for _, key := range settings {
		if k.Flat && key == "schema" {
			continue
		}
		if v, ok := p.Get(key); ok && v != nil {
			found.Set(key, v)
		}
		secret, err := t.OptionalSecret(k.Secrets + "." + key)
		if err != nil {
			return nil, fmt.Errorf("read secret %s.%s: %w", k.Secrets, key, err)
		}
		if secret != "" {
			found.Set(key, secret)
			secrets = append(secrets, secret)
		}
	}
	s, err := k.readServer(operators.NewParams(found), t.ProjectName)
	if err != nil {
		return nil, err
	}
	if s.password, err = k.password(t, p); err != nil {
		return nil, err
	}
	s.network = t.Dialer()
	s.Hide(append(secrets, s.password)...)
	s.Application = "zerodag " + operators.Derived(t.IdempotencyKey(), t.SessionUUID)
	return s, nil
}

func (k Kind) readServer(p *operators.Params, project string) (*Server, error) {
	s := &Server{project: project, kind: k}
	for _, required := range []struct {
		key  string
		into *string
	}{{"host", &s.host}, {"user", &s.user}, {"database", &s.database}} {
		key := required.key
		if !p.Has(key) {
			return nil, param.Errorf("Parameter '%s' is required but not set: write it in `_export: {%s: {%s: ...}}`, "+
				"or set the secret with `zerodag secrets --project %s --set %s.%s`", key, k.Name, key, project, k.Secrets, key)
		}
		var err error
		if *required.into, err = p.String(key); err != nil {
			return nil, err
		}
	}
	port, err := p.IntOr("port", k.Port)
	if err != nil {
		return nil, err
	}
	if port < 1 || port > 65535 {
		return nil, param.Errorf("Parameter 'port' must be a port from 1 to 65535: %d", port)
	}
	s.port = uint16(port)
	if s.ssl, err = p.BoolOr("ssl", false); err != nil {
		return nil, err
	}
	if s.schema, err = p.StringOr("schema", ""); err != nil {
		return nil, err
	}
	if s.connectTime, err = p.DurationOr("connect_timeout", 30*time.Second); err != nil {
		return nil, err
	}
	s.silence, err = p.DurationOr("socket_timeout", 30*time.Minute)
	return s, err
}

// password returns the password from the secrets, never from a parameter. It may be missing: some servers require none.
func (k Kind) password(t *operators.Task, p *operators.Params) (string, error) {
	other, err := p.StringOr("password_override", "")
	if err != nil {
		return "", err
	}
	if other != "" {
		return t.RequireSecret(k.Secrets + "." + other)
	}
	return t.OptionalSecret(k.Secrets + ".password")
}

// Login holds the settings with which a driver connects.
type Login struct {
	Host, Database, User, Password string
	Port                           uint16
	TLS                            bool // encrypted; the server's certificate is not verified, as in Digdag
	// Silence is how long the server may be silent; 0 for no limit.
	Silence time.Duration
}

// Login returns the connection settings for a driver outside this package.
func (s *Server) Login() Login {
	return Login{Host: s.host, Database: s.database, User: s.user, Password: s.password, Port: s.port, TLS: s.ssl, Silence: s.silence}
}

// Project returns the name of the task's project.
func (s *Server) Project() string { return s.project }

// Plain returns a string from the server without known secrets.
func (s *Server) Plain(text string) string { return s.hide.Replace(text) }

// Hide hides further secrets in the server's messages.
func (s *Server) Hide(secrets ...string) {
	s.secrets = append(s.secrets, secrets...)
	s.hide = hiding(slices.Clone(s.secrets))
}

// Tag returns the comment that statements begin with, "" for none.
func (s *Server) Tag() string {
	if !s.kind.Redshift {
		return ""
	}
	return "/* " + s.Application + " */ "
}

// hiding returns a replacer that removes secrets from a server's messages. Strings shorter than four letters do not
// count as secrets: removing them could destroy half of a message.
func hiding(secrets []string) *strings.Replacer {
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be a prefix of another
	var pairs []string
	for _, s := range secrets {
		if len(s) >= 4 {
			pairs = append(pairs, s, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}

// Connect opens a session. The agent's own environment does not affect it: no PGPASSWORD, no .pgpass, no socket of the
// agent's machine.
func (s *Server) Connect(ctx context.Context) (*Session, error) {
	config, err := pgconn.ParseConfig("host=localhost port=5432 user=nobody password=none dbname=none sslmode=disable " +
		"sslcertmode=disable target_session_attrs=any passfile=''")
	if err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	config.Host, config.Port, config.Database = s.host, s.port, s.database
	config.User, config.Password = s.user, s.password
	config.Fallbacks, config.ValidateConnect, config.RequireAuth = nil, nil, ""
	config.ConnectTimeout = s.connectTime
	config.DialFunc = s.Dial
	if s.ssl {
		config.TLSConfig = &tls.Config{ServerName: s.host, InsecureSkipVerify: true} // #nosec G402 -- it is encrypted but not verified, as in Digdag
	}
	// The settings of Digdag's driver. Connection poolers refuse most other parameters.
	config.RuntimeParams = map[string]string{"application_name": s.Application, "client_encoding": "UTF8", "DateStyle": "ISO", "TimeZone": "UTC"}
	if s.schema != "" && !s.kind.Redshift {
		config.RuntimeParams["search_path"] = s.schema
	}
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: Farewell}
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, s.unreachable(ctx, err)
	}
	session := &Session{conn, s}
	if s.schema != "" && s.kind.Redshift {
		if err := session.Script(ctx, "set the schema", "SET search_path TO "+Quoted(s.schema)); err != nil {
			session.Close()
			return nil, err
		}
	}
	return session, nil
}

// Farewell is how long a server has to end a query for which no task is waiting anymore.
const Farewell = 5 * time.Second

// Dial opens a connection, within the task's time limit.
func (s *Server) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" {
		return nil, fmt.Errorf("%s is not a host name", s.host)
	}
	if s.connectTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.connectTime)
		defer cancel()
	}
	return s.network.DialContext(ctx, network, address)
}

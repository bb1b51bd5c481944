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

// Kind is a kind of database, as tasks name it.
type Kind struct {
	Name    string // of the operator and of the defaults that are exported: "pg"
	Secrets string // what its secrets begin with: "pg"
	Port    int64  // where there is none in the parameters

	// Redshift says that it is one: its pg_type does not tell what types are like, schemas
	// are set by a statement, and statements begin with a comment that says whose they are,
	// for sessions have no names there.
	Redshift bool

	// Flat says that databases have no schemas below them, so that there is no such setting.
	Flat bool
}

// Server is where a task's database is, and who asks.
type Server struct {
	host, database         string
	port                   uint16
	user, password, schema string
	ssl                    bool
	connectTime            time.Duration
	network                operators.Network
	silence                time.Duration // how long the server may say nothing; 0 is for ever
	Application            string        // the name by which the server knows this task
	project                string
	kind                   Kind
	secrets                []string
	hide                   *strings.Replacer // of what is a secret
}

// settings are read from secrets `pg.KEY`, say, first, then from parameters.
var settings = [...]string{"host", "port", "user", "database", "ssl", "schema", "connect_timeout", "socket_timeout"}

// Find reads where the database of a task is.
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
			return nil, param.Errorf("Parameter '%s' is required but not set: write it into `_export: {%s: {%s: ...}}`, "+
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
		return nil, param.Errorf("Parameter 'port' is no port from 1 to 65535: %d", port)
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

// password is a secret, never a parameter. There may be none: some servers ask for none.
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

// Login is what a driver connects with.
type Login struct {
	Host, Database, User, Password string
	Port                           uint16
	TLS                            bool // encrypted; the server's certificate is not verified, as in the original
	// Silence is how long the server may say nothing; 0 is for ever.
	Silence time.Duration
}

// Login tells a driver that is not this package's where the database is.
func (s *Server) Login() Login {
	return Login{Host: s.host, Database: s.database, User: s.user, Password: s.password, Port: s.port, TLS: s.ssl, Silence: s.silence}
}

// Project is the name of the task's project.
func (s *Server) Project() string { return s.project }

// Plain is a text of the server without the secrets that are known.
func (s *Server) Plain(text string) string { return s.hide.Replace(text) }

// Hide takes further secrets out of the server's words.
func (s *Server) Hide(secrets ...string) {
	s.secrets = append(s.secrets, secrets...)
	s.hide = hiding(slices.Clone(s.secrets))
}

// Tag is the comment that statements begin with, "" for none.
func (s *Server) Tag() string {
	if !s.kind.Redshift {
		return ""
	}
	return "/* " + s.Application + " */ "
}

// hiding makes what takes secrets out of a server's words. Those that are shorter than
// four letters would take half of a message with them, and are no secrets.
func hiding(secrets []string) *strings.Replacer {
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may begin another
	var pairs []string
	for _, s := range secrets {
		if len(s) >= 4 {
			pairs = append(pairs, s, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}

// Connect opens a session. Nothing of the agent's own environment has a say in it: no
// PGPASSWORD, no .pgpass, no socket of the agent's machine.
func (s *Server) Connect(ctx context.Context) (*Session, error) {
	config, err := pgconn.ParseConfig("host=localhost port=5432 user=nobody password=none dbname=none sslmode=disable " +
		"sslcertmode=disable target_session_attrs=any passfile=''")
	if err != nil {
		return nil, fmt.Errorf("make settings of a connection: %w", err)
	}
	config.Host, config.Port, config.Database = s.host, s.port, s.database
	config.User, config.Password = s.user, s.password
	config.Fallbacks, config.ValidateConnect, config.RequireAuth = nil, nil, ""
	config.ConnectTimeout = s.connectTime
	config.DialFunc = s.Dial
	if s.ssl {
		config.TLSConfig = &tls.Config{ServerName: s.host, InsecureSkipVerify: true} // #nosec G402 -- it is encrypted but not verified, as in the original
	}
	// What the original's driver sets. Connection poolers refuse most other parameters.
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

// Farewell is how long a server has to end a query that no task waits for any more.
const Farewell = 5 * time.Second

// Dial opens a connection, within the time that the task gives it.
func (s *Server) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" {
		return nil, fmt.Errorf("%s is no name of a host", s.host)
	}
	if s.connectTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.connectTime)
		defer cancel()
	}
	return s.network.DialContext(ctx, network, address)
}

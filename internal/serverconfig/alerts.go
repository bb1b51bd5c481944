package serverconfig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"zerodag/engine/param"
	"zerodag/internal/configuration"
	"zerodag/internal/evaluators"
	"zerodag/internal/host"
	"zerodag/internal/notice"
	"zerodag/internal/notice/channel"
	"zerodag/internal/sns"
)

// The settings for channels and routes (server.md#settings).
const (
	alertKeys   = "alert."
	consoleKey  = "alert.console"
	channelKeys = "alert.channels."
	routeKeys   = "alert.routes."
	fileKey     = "-file" // ends the key of a file that holds the value of a secret setting
)

// channelType describes one value of alert.channels.NAME.type.
type channelType struct {
	keys    []string // besides "type"; "headers.*" means every key below headers
	secrets []string // keys whose value may be in a file
	ordered bool
	open    func(section) (notice.Sender, error)
}

// channelTypes returns the channel types by name.
func channelTypes(pool *evaluators.Pool) map[string]channelType {
	hook := func(to func(string) channel.Hook) func(section) (notice.Sender, error) {
		return func(s section) (notice.Sender, error) {
			address, err := s.url("url")
			return to(address), err
		}
	}
	address := []string{"url"}
	return map[string]channelType{
		"slack":   {secrets: address, open: hook(channel.Slack)},
		"teams":   {secrets: address, open: hook(channel.Teams)},
		"discord": {secrets: address, open: hook(channel.Discord)},
		"telegram": {keys: []string{"chat", "api"}, secrets: []string{"token"}, open: func(s section) (notice.Sender, error) {
			token, err := s.secret("token")
			chat, err2 := s.required("chat")
			api, err3 := s.urlOr("api", channel.TelegramAPI)
			return channel.Telegram(api, token, chat), errors.Join(err, err2, err3)
		}},
		"pagerduty": {keys: []string{"api"}, secrets: []string{"key"}, ordered: true, open: func(s section) (notice.Sender, error) {
			key, err := s.secret("key")
			api, err2 := s.urlOr("api", channel.PagerDutyAPI)
			return channel.PagerDuty(api, key), errors.Join(err, err2)
		}},
		"webhook": {keys: []string{"method", "headers.*"}, secrets: []string{"url", "secret"}, open: openWebhook},
		"command": {keys: []string{"command", "timeout"}, open: func(s section) (notice.Sender, error) {
			command, err := s.required("command")
			limit := s.r.Duration(s.prefix+"timeout", 0)
			if err == nil && limit > notice.LongestShell {
				err = fmt.Errorf("configuration key %stimeout is %v: use at most %v, the time that one try has", s.prefix, limit, notice.LongestShell)
			}
			return notice.Shell{Command: command, Timeout: limit}, err
		}},
		"sns": {keys: []string{"topic", "endpoint", "credentials.access-key-id"}, secrets: []string{"credentials.secret-access-key"}, open: openSNS},
		"mail": {keys: []string{"host", "port", "from", "to", "cc", "bcc", "subject", "tls", "ssl", "username", "html", "debug", "body_template_file"}, secrets: []string{"password"},
			open: func(s section) (notice.Sender, error) {
				m, err := mailNotices(s.r, pool, s.prefix, s.required)
				if err != nil {
					return nil, err
				}
				if to, _ := m.Message.Get("to"); len(to.([]param.Value)) == 0 && !m.Message.Has("cc") && !m.Message.Has("bcc") {
					return nil, fmt.Errorf("configuration key %sto is missing: name at least one address", s.prefix)
				}
				if password, err := s.optionalSecret("password"); err != nil {
					return nil, err
				} else if password != "" {
					m.Server.Set("password", password)
				}
				if s.r.Text(s.prefix+"subject", "") == "" {
					m.Subject = channel.Title
				}
				return m, nil
			}},
	}
}

// section holds one channel's settings.
type section struct {
	r      *configuration.Reading
	prefix string // "alert.channels.NAME."
	kind   string
}

// required reads a setting that the channel's type requires.
func (s section) required(key string) (string, error) {
	key = s.prefix + strings.TrimPrefix(key, s.prefix)
	if v := s.r.Text(key, ""); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("configuration key %s is missing: %stype is %s", key, s.prefix, s.kind)
}

// secret reads a setting whose value may be in a file instead.
func (s section) secret(key string) (string, error) {
	v, err := s.optionalSecret(key)
	if err == nil && v == "" {
		err = fmt.Errorf("configuration key %s is missing: %stype is %s; write the value, or name a file that contains it with %s", s.prefix+key, s.prefix, s.kind, s.prefix+key+fileKey)
	}
	return v, err
}

func (s section) optionalSecret(key string) (string, error) {
	here, file := s.r.Text(s.prefix+key, ""), s.r.Text(s.prefix+key+fileKey, "")
	if file == "" {
		return here, nil
	}
	if here != "" {
		return "", fmt.Errorf("configuration keys %s and %s cannot be set together: remove one of them", s.prefix+key, s.prefix+key+fileKey)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("configuration key %s: %w", s.prefix+key+fileKey, err)
	}
	return strings.TrimSpace(string(content)), nil
}

// url reads a secret that is an address. Its error does not contain the address.
func (s section) url(key string) (string, error) {
	address, err := s.secret(key)
	if err != nil {
		return "", err
	}
	return address, s.checkURL(key, address)
}

// urlOr reads an address that has a default.
func (s section) urlOr(key, otherwise string) (string, error) {
	address := s.r.Text(s.prefix+key, otherwise)
	return address, s.checkURL(key, address)
}

func isURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

func (s section) checkURL(key, address string) error {
	if !isURL(address) {
		return fmt.Errorf("configuration key %s must be a URL that begins with https:// or http://", s.prefix+key)
	}
	return nil
}

func openWebhook(s section) (notice.Sender, error) {
	address, err := s.url("url")
	if err != nil {
		return nil, err
	}
	secret, err := s.optionalSecret("secret")
	return notice.HTTP{URL: address, Method: s.r.Text(s.prefix+"method", ""), Headers: s.r.Tree(s.prefix + "headers."), Secret: secret}, err
}

func openSNS(s section) (notice.Sender, error) {
	topic, err := s.required("topic")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(topic, ":")
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "sns" || parts[3] == "" || parts[5] == "" {
		return nil, fmt.Errorf("configuration key %stopic must be the ARN of a topic, such as arn:aws:sns:eu-west-1:123456789012:NAME", s.prefix)
	}
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithRegion(parts[3])} // a topic exists only in its own region
	id := s.r.Text(s.prefix+"credentials.access-key-id", "")
	secret, err := s.optionalSecret("credentials.secret-access-key")
	if err != nil {
		return nil, err
	}
	if (id == "") != (secret == "") {
		return nil, fmt.Errorf("configuration keys %scredentials.access-key-id and .secret-access-key must be set together; without them, the server finds credentials as the AWS CLI does", s.prefix)
	}
	if id != "" {
		options = append(options, awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(id, secret, "")))
	}
	c, err := awsconfig.LoadDefaultConfig(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("configuration keys %s*: %w", s.prefix, err)
	}
	if endpoint, err := s.urlOr("endpoint", "https://sns"); s.r.Text(s.prefix+"endpoint", "") != "" {
		if err != nil {
			return nil, err
		}
		c.BaseEndpoint = aws.String(endpoint)
	}
	return sns.New(c, sns.Options{ARN: topic, Tries: 1}), nil // the outbox retries
}

// alertFiles returns the files that contain the channels' secrets.
func alertFiles(s configuration.Settings) (files []string) {
	for key, name := range s {
		if strings.HasPrefix(key, channelKeys) && strings.HasSuffix(key, fileKey) && name != "" {
			if file, err := filepath.Abs(strings.TrimSpace(name)); err == nil {
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return files
}

var alertName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// sections groups the settings below a prefix by name; the keys that it returns lack the prefix and the name.
func sections(s configuration.Settings, prefix string) (map[string][]string, error) {
	found := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		rest, is := strings.CutPrefix(key, prefix)
		if !is {
			continue
		}
		name, own, is := strings.Cut(rest, ".")
		switch {
		case !is || own == "":
			return nil, fmt.Errorf("unknown configuration key %s: write %sNAME.KEY", key, prefix)
		case !alertName().MatchString(name):
			return nil, fmt.Errorf("configuration key %s: the name %q must have 1 to 64 letters, digits, _ or -", key, name)
		case name == notice.Default:
			return nil, fmt.Errorf("configuration key %s: the name %s belongs to the settings notification.*; choose another name", key, name)
		}
		found[name] = append(found[name], own)
	}
	return found, nil
}

// readAlerts adds the channels and routes below alert.* to the options.
func readAlerts(r *configuration.Reading, pool *evaluators.Pool, o *notice.OutboxOptions) error {
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		if strings.HasPrefix(key, alertKeys) && key != consoleKey && !strings.HasPrefix(key, channelKeys) && !strings.HasPrefix(key, routeKeys) {
			return fmt.Errorf("unknown configuration key %s: write %sNAME.KEY or %sNAME.KEY", key, channelKeys, routeKeys)
		}
	}
	if address := r.Text(consoleKey, ""); address != "" {
		if !isURL(address) {
			return fmt.Errorf("configuration key %s must be a URL such as https://zerodag.example.com but is %q", consoleKey, address)
		}
		o.Console = strings.TrimSuffix(address, "/")
	}
	if err := readChannels(r, pool, o); err != nil {
		return err
	}
	return readRoutes(r, o)
}

func readChannels(r *configuration.Reading, pool *evaluators.Pool, o *notice.OutboxOptions) error {
	found, err := sections(r.Settings, channelKeys)
	if err != nil {
		return err
	}
	types := channelTypes(pool)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		s := section{r, channelKeys + name + ".", r.Text(channelKeys+name+".type", "")}
		names := slices.Sorted(maps.Keys(types))
		kind, is := types[s.kind]
		switch {
		case s.kind == "":
			return fmt.Errorf("configuration key %stype is missing: use %s", s.prefix, oneOf(names))
		case !is:
			return fmt.Errorf("configuration key %stype is %q: use %s", s.prefix, s.kind, oneOf(names))
		}
		accepted := append(slices.Clone(kind.keys), "type")
		for _, key := range kind.secrets {
			accepted = append(accepted, key, key+fileKey)
		}
		if err := onlyKeys(found[name], accepted, s.prefix, "a channel of type "+s.kind); err != nil {
			return err
		}
		sender, err := s.open(kind)
		if err != nil {
			return err
		}
		o.Channels = append(o.Channels, notice.Channel{Name: name, Type: s.kind, Sender: sender, Ordered: kind.ordered})
	}
	return nil
}

// open opens a channel, and marks all keys that it may have as read.
func (s section) open(t channelType) (notice.Sender, error) {
	for _, key := range append(slices.Clone(t.keys), t.secrets...) {
		if !strings.HasSuffix(key, "*") {
			s.r.Text(s.prefix+key, "")
		}
	}
	return t.open(s)
}

// onlyKeys refuses keys that have no meaning.
func onlyKeys(keys, accepted []string, prefix, what string) error {
	slices.Sort(accepted)
	for _, key := range keys {
		known := slices.ContainsFunc(accepted, func(a string) bool {
			below, isTree := strings.CutSuffix(a, "*")
			return key == a || isTree && len(key) > len(below) && strings.HasPrefix(key, below)
		})
		if !known {
			return fmt.Errorf("unknown configuration key %s: %s has the keys %s", prefix+key, what, strings.Join(accepted, ", "))
		}
	}
	return nil
}

func oneOf(names []string) string {
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func readRoutes(r *configuration.Reading, o *notice.OutboxOptions) error {
	found, err := sections(r.Settings, routeKeys)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		prefix := routeKeys + name + "."
		if err := onlyKeys(found[name], []string{"channels", "sites", "projects", "workflows", "tags", "kinds", "quiet"}, prefix, "a route"); err != nil {
			return err
		}
		route := notice.Route{Name: name, Channels: r.List(prefix + "channels"), Tags: r.List(prefix + "tags"), Quiet: r.Duration(prefix+"quiet", 0)}
		if len(route.Channels) == 0 {
			return fmt.Errorf("configuration key %schannels is missing: name the channels that get the notifications of this route", prefix)
		}
		for _, c := range route.Channels {
			if !slices.ContainsFunc(o.Channels, func(x notice.Channel) bool { return x.Name == c && c != notice.Default }) {
				return fmt.Errorf("configuration key %schannels names the channel %s, which does not exist: set %s%s.type", prefix, c, channelKeys, c)
			}
			used[c] = true
		}
		if route.Projects, err = globs(r, prefix+"projects"); err != nil {
			return err
		}
		if route.Workflows, err = globs(r, prefix+"workflows"); err != nil {
			return err
		}
		if route.Kinds, err = kinds(r, prefix+"kinds"); err != nil {
			return err
		}
		if route.Sites, err = sites(r, prefix+"sites"); err != nil {
			return err
		}
		o.Routes = append(o.Routes, route)
	}
	for _, c := range o.Channels {
		if c.Name != notice.Default && !used[c.Name] {
			r.Note(fmt.Sprintf("the channel %s gets no notifications: no route names it (%sNAME.channels)", c.Name, routeKeys))
		}
	}
	return nil
}

func globs(r *configuration.Reading, key string) ([]string, error) {
	list := r.List(key)
	for _, glob := range list {
		if notice.CheckGlob(glob) != nil {
			return nil, fmt.Errorf("configuration key %s: the pattern %q is malformed: * matches any text, ? one character, [a-z] one of several characters", key, glob)
		}
	}
	return list, nil
}

func kinds(r *configuration.Reading, key string) (list []host.NoticeKind, err error) {
	for _, name := range r.List(key) {
		kind := host.NoticeKind(name)
		if !slices.Contains(host.NoticeKinds(), kind) {
			var all []string
			for _, k := range host.NoticeKinds() {
				all = append(all, string(k))
			}
			return nil, fmt.Errorf("configuration key %s: unknown kind %q: use %s", key, name, oneOf(all))
		}
		list = append(list, kind)
	}
	return list, nil
}

func sites(r *configuration.Reading, key string) (list []int64, err error) {
	for _, text := range r.List(key) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 0 {
			return nil, fmt.Errorf("configuration key %s must be a list of site numbers but contains %q", key, text)
		}
		list = append(list, id)
	}
	return list, nil
}

package localsecret

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// tdSecrets returns the `td.…` secrets that the configuration of Treasure Data's own command-line tool provides for a
// run on this machine, as in Digdag; none if there is no such file.
func tdSecrets() (map[string]string, error) {
	name := cmp.Or(os.Getenv("TREASURE_DATA_CONFIG_PATH"), os.Getenv("TD_CONFIG_PATH"))
	if name == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil //nolint:nilerr // without a home folder, there is no file
		}
		name = filepath.Join(home, ".td", "td.conf")
	}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the configuration of Treasure Data's command line: %w", err)
	}
	return readTDConf(string(text)), nil
}

// readTDConf reads the [account] section of td.conf: apikey, endpoint and usessl. Unknown lines are skipped, because
// other programs may have lines there.
func readTDConf(text string) map[string]string {
	secrets := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(strings.TrimSpace(line), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !found || value == "" || strings.HasPrefix(key, "#") || strings.HasPrefix(key, "[") {
			continue
		}
		switch key {
		case "apikey":
			secrets["td.apikey"] = value
		case "usessl":
			secrets["td.use_ssl"] = value
		case "endpoint":
			secrets["td.endpoint"] = value
			if at, err := url.Parse(value); err == nil && at.Host != "" {
				secrets["td.endpoint"] = at.Host
				secrets["td.use_ssl"] = fmt.Sprint(at.Scheme != "http")
			}
		}
	}
	return secrets
}

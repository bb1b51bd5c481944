package localsecret

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// googleSecrets returns the `gcp.…` secrets that Google's own tools provide for a run on this machine, as in Digdag
// (Application Default Credentials): the key in a file, and the project in the environment. There are none if the file
// does not exist.
func googleSecrets() (map[string]string, error) {
	name := os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	if name == "" {
		folder := os.Getenv("CLOUDSDK_CONFIG")
		if folder == "" {
			home, err := os.UserConfigDir()
			if runtime.GOOS != "windows" { // on other systems, gcloud always uses the same place
				home, err = os.UserHomeDir()
				home = filepath.Join(home, ".config")
			}
			if err != nil {
				return nil, nil //nolint:nilerr // without a home folder, there is no file
			}
			folder = filepath.Join(home, "gcloud")
		}
		name = filepath.Join(folder, "application_default_credentials.json")
	}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, os.ErrNotExist) && os.Getenv("GOOGLE_APPLICATION_CREDENTIALS") == "":
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Google's Application Default Credentials: %w: set GOOGLE_APPLICATION_CREDENTIALS to the file of the key", err)
	}
	secrets := map[string]string{"gcp.credential": string(text)}
	if project := cmp.Or(os.Getenv("GOOGLE_CLOUD_PROJECT"), os.Getenv("GCLOUD_PROJECT")); project != "" {
		secrets["gcp.project"] = project
	}
	return secrets, nil
}

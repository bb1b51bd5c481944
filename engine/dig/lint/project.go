package lint

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"sync"

	"zerodag/engine/dig"
	"zerodag/engine/dig/lint/parameters"
)

// projectFiles warns about project files that are not workflows: misnamed files, and private keys, which everyone who
// may download the project could read.
func projectFiles(read dig.Source, known Known) (list dig.Errors) {
	if known.Folder == nil || known.Only != "" {
		return nil
	}
	const settings, unread = "zerodag.yml", "zerodag.yaml"
	if entries, _ := known.Folder("."); slices.Contains(entries, unread) && !slices.Contains(entries, settings) {
		list = append(list, dig.Error{File: unread, Message: "this file is not read", Hint: "rename it to " + settings})
	}
	for _, name := range parameters.FilesBelow(known.Folder, ".") {
		if !keyName().MatchString(path.Base(name)) {
			continue
		}
		if text, err := read(name); err == nil && bytes.Contains(text[:min(len(text), 1<<10)], []byte("PRIVATE KEY-----")) {
			list = append(list, dig.Error{File: name, Message: "this private key is part of the project, so everyone who can see the project can read it",
				Hint: "add it to .zerodagignore and store it as a secret: zerodag secrets --project NAME --set KEY=@" + name})
		}
	}
	return list
}

// keyName matches the names of private key files.
var keyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^id_(rsa|dsa|ecdsa|ed25519)$|\.(pem|key)$`) })

package serverrun

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"zerodag/internal/datafolder"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/plainfile"
)

// firstToken creates the token with which all others are created, on a server that requires tokens and has none. Users
// who can read the data folder can read it.
func firstToken(ctx context.Context, e *embedded.Engine, folder string, logger *slog.Logger) error {
	list, err := e.DB.List(ctx, 0)
	if err != nil || len(list) > 0 {
		return err
	}
	text, hash := access.NewToken()
	token := host.Token{Name: "first owner", Role: access.Owner.String(), Hash: hash, CreatedAt: time.Now().UTC()}
	if folder == "" { // in memory: the log is the best place
		logger.Warn("The first token is " + text)
	} else {
		file := filepath.Join(folder, datafolder.Token)
		if err := plainfile.WriteSecret(file, []byte(text+"\n")); err != nil {
			return fmt.Errorf("store the first token: %w", err)
		}
		logger.Warn("The first token is in " + file + ": use it with --token, or as ZERODAG_TOKEN")
	}
	if _, err := e.DB.Create(ctx, token); err != nil {
		return fmt.Errorf("create the first token: %w", err)
	}
	return nil
}

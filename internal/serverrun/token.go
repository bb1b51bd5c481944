package serverrun

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"zerodag/internal/datafolder"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/plainfile"
	"zerodag/internal/retry"
)

// firstName is the name of a first token. Servers that start at the same moment on an empty database have one each.
const firstName = "first owner"

// firstToken creates the token with which all others are created, on a server that requires tokens and has none. Users
// who can read the data folder can read it.
func firstToken(ctx context.Context, e *embedded.Engine, folder string, logger *slog.Logger) error {
	list, err := e.DB.List(ctx, 0)
	if err != nil || len(list) > 0 {
		return err
	}
	text, hash := access.NewToken()
	token := host.Token{Name: firstName, Role: access.Owner.String(), Hash: hash, CreatedAt: time.Now().UTC()}
	if folder == "" { // the data is in memory: the log is the best place
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

// checkFirstToken is the interval at which a server checks whether the file with the first token is still needed.
const checkFirstToken = time.Minute

// dropFirstToken removes the file with the first token as soon as it is no longer needed: when a user has created an
// owner token, or when the first token is revoked. It returns when there is no file, or when ctx ends. The token itself
// remains valid until it is revoked.
func dropFirstToken(ctx context.Context, list func(ctx context.Context, site int64) ([]host.Token, error), folder string, logger *slog.Logger) {
	file, valid := filepath.Join(folder, datafolder.Token), false
	for {
		text, err := os.ReadFile(file)
		if err != nil {
			return // it was removed
		}
		tokens, err := list(ctx, 0)
		if err == nil {
			hash := access.HashOf(string(bytes.TrimSpace(text)))
			there := slices.ContainsFunc(tokens, func(t host.Token) bool { return bytes.Equal(t.Hash, hash) })
			// A file that was never valid here does not belong to this database and stays.
			if revoked := valid && !there; revoked || there && slices.ContainsFunc(tokens, replaces) {
				if err = os.Remove(file); err == nil {
					logger.Info("the file with the first token was removed because it is not needed any more: " + file + ". The token remains valid until it is revoked")
					return
				}
			}
			valid = there
		}
		if err != nil && ctx.Err() == nil {
			logger.Warn("check whether the file with the first token is still needed", "error", err)
		}
		if retry.Sleep(ctx, checkFirstToken) != nil {
			return
		}
	}
}

// replaces reports whether the token makes a first token superfluous: it is an owner's token, never expires, and was
// created by a user.
func replaces(t host.Token) bool {
	return t.Role == access.Owner.String() && t.ExpiresAt.IsZero() && t.Name != firstName
}

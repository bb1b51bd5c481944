package serverrun

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"zerodag/internal/datafolder"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/plainfile"
	"zerodag/internal/retry"
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

// checkFirstToken is the interval at which a server checks whether the file with the first token is still needed.
const checkFirstToken = time.Minute

// dropFirstToken removes the file with the first token as soon as it is not needed any more: when another owner token
// exists, or when the token was revoked. It returns when there is no file, or when ctx ends. The token itself remains
// valid until it is revoked.
func dropFirstToken(ctx context.Context, list func(ctx context.Context, site int64) ([]host.Token, error), folder string, logger *slog.Logger) {
	file := filepath.Join(folder, datafolder.Token)
	for {
		text, err := os.ReadFile(file)
		if err != nil {
			return // it was removed
		}
		tokens, err := list(ctx, 0)
		if hash := sha256.Sum256(bytes.TrimSpace(text)); err == nil && replaced(tokens, hash[:]) {
			if err = os.Remove(file); err == nil {
				logger.Info("the file with the first token was removed because it is not needed any more: " + file + ". The token remains valid until it is revoked")
				return
			}
		}
		if err != nil && ctx.Err() == nil {
			logger.Warn("check whether the file with the first token is still needed", "error", err)
		}
		if retry.Sleep(ctx, checkFirstToken) != nil {
			return
		}
	}
}

// replaced reports whether the token with that hash was revoked, or another owner token without an end exists.
func replaced(tokens []host.Token, hash []byte) bool {
	revoked := true
	for _, t := range tokens {
		switch {
		case bytes.Equal(t.Hash, hash):
			revoked = false
		case t.Role == access.Owner.String() && t.ExpiresAt.IsZero():
			return true
		}
	}
	return revoked
}

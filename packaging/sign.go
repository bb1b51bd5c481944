package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The results of a signed release. The signature has the form of `cosign sign-blob`, which openssl also verifies:
// ECDSA of the SHA-256 sum, DER in base64.
const (
	signatureName = sumsName + ".sig"
	publicName    = "zerodag.pub"
)

// signingKey reads a private key: PEM of PKCS 8 or SEC 1, on the curve P-256, as `openssl ecparam -name prime256v1
// -genkey` writes it. It returns nil for an empty string.
func signingKey(text string) (*ecdsa.PrivateKey, error) {
	if text == "" {
		return nil, nil
	}
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errors.New("ZERODAG_SIGNING_KEY does not contain a private key in PEM")
		}
		var key any
		var err error
		switch block.Type {
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PARAMETERS": // openssl writes them before the key
			continue
		default:
			return nil, fmt.Errorf("ZERODAG_SIGNING_KEY has a %s: decrypt it first", block.Type)
		}
		if err != nil {
			return nil, fmt.Errorf("ZERODAG_SIGNING_KEY: %w", err)
		}
		private, isECDSA := key.(*ecdsa.PrivateKey)
		if !isECDSA || private.Curve != elliptic.P256() {
			return nil, errors.New("ZERODAG_SIGNING_KEY is not a key on the curve P-256")
		}
		return private, nil
	}
}

// publicKey returns the public key as PEM; "" if the release is not signed.
func (r *release) publicKey() (string, error) {
	if r.key == nil {
		return "", nil
	}
	der, err := x509.MarshalPKIXPublicKey(r.key.Public())
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}

// sign signs the checksums. The same key always produces the same signature for the same release (RFC 6979).
func (r *release) sign() error {
	if r.key == nil {
		fmt.Fprintln(os.Stderr, "packaging: not signed: ZERODAG_SIGNING_KEY is not set")
		return nil
	}
	sums, err := os.ReadFile(filepath.Join(r.out, sumsName))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(sums)
	signature, err := r.key.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	public, err := r.publicKey()
	if err != nil {
		return err
	}
	return errors.Join(write(filepath.Join(r.out, signatureName), []byte(base64.StdEncoding.EncodeToString(signature))),
		write(filepath.Join(r.out, publicName), []byte(public)))
}

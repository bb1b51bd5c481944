// Package aesgcm implements Digdag's format for secrets of projects that are stored in a database.
//
// It is used by the drivers for databases that encrypt secrets themselves. It must never keep a key, nor reveal more of
// a value than its length.
package aesgcm

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
)

// The record of a secret (wire.md 3.2) consists of a name, a version, a term and a nonce, followed by the encrypted
// part: the length of the value, the value, and zeros up to a whole block.
const (
	// Engine names the format.
	Engine = "aesgcm"
	// KeySize is the size of a key, in bytes.
	KeySize = 16

	version    = 2
	term       = 1
	nonceSize  = 12
	headSize   = len(Engine) + 4 + 4
	maxSecret  = 16 << 10
	lengthSize = 4
)

// Encrypt returns the record of a value of at most 16 KiB, encrypted with a key of KeySize bytes. Each call returns a
// different record.
func Encrypt(key []byte, value string) (string, error) {
	if len(value) > maxSecret {
		return "", fmt.Errorf("the value is %d bytes, but at most %d are allowed", len(value), maxSecret)
	}
	gcm, err := newGCM(key)
	if err != nil {
		return "", err
	}
	record := append([]byte(Engine), 0, 0, 0, version, 0, 0, 0, term)
	record = append(record, make([]byte, nonceSize)...)
	nonce := record[headSize:]
	rand.Read(nonce) // never fails
	plain := make([]byte, (lengthSize+len(value)+aes.BlockSize-1)/aes.BlockSize*aes.BlockSize)
	binary.BigEndian.PutUint32(plain, uint32(len(value)))
	copy(plain[lengthSize:], value)
	return base64.StdEncoding.EncodeToString(gcm.Seal(record, nonce, plain, nil)), nil
}

// Decrypt decrypts the output of Encrypt with the same key. Its errors show whether another key was used.
func Decrypt(key []byte, text string) (string, error) {
	record, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("decode record: %w", err)
	}
	if len(record) < headSize+nonceSize || !bytes.HasPrefix(record, []byte(Engine)) {
		return "", errors.New("the record was not written by engine " + Engine)
	}
	v, t := binary.BigEndian.Uint32(record[len(Engine):]), binary.BigEndian.Uint32(record[len(Engine)+4:])
	if v < 1 || v > version || t != term {
		return "", fmt.Errorf("the record has the unknown version %d and term %d", v, t)
	}
	gcm, err := newGCM(key)
	if err != nil {
		return "", err
	}
	plain, err := gcm.Open(nil, record[headSize:headSize+nonceSize], record[headSize+nonceSize:], nil)
	if err != nil {
		return "", errors.New("wrong key: digdag.secret-encryption-key has changed since the secret was stored")
	}
	if len(plain) < lengthSize {
		return "", errors.New("the record is too short")
	}
	n := binary.BigEndian.Uint32(plain)
	if n > maxSecret || int(n) > len(plain)-lengthSize {
		return "", errors.New("the record is too short for its value")
	}
	return string(plain[lengthSize : lengthSize+int(n)]), nil
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

package emr

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// source is the origin of a task's request: parameters and project files.
type source struct {
	task   *operators.Task
	params *operators.Params
	tag    string
}

// stage collects the files that must be on S3 before a start: project files and files that zerodag adds. Names are
// derived from the task, so that staging again overwrites the same files.
type stage struct {
	source
	root    string // `staging`, "" for none
	uploads []upload
	shared  map[string]string // addresses of files used by several steps
	seals   bool              // a value must be encrypted
	encrypt aws.Operation[kms.EncryptInput, kms.EncryptOutput, kms.Options]
	key     string // id of the key
}

type upload struct {
	uri     string
	content []byte
}

func newStage(s source) (*stage, error) {
	root, err := s.params.StringOr("staging", "")
	if err != nil {
		return nil, err
	}
	if root != "" && (!strings.HasPrefix(root, "s3://") || !strings.HasSuffix(root, "/") || strings.Trim(root[5:], "/") == "") {
		return nil, param.Errorf("Invalid staging uri: '%s'", root)
	}
	return &stage{source: s, root: root, shared: map[string]string{}}, nil
}

// folder returns the folder of this try, below `staging`.
func (s *stage) folder() string { return s.root + s.tag + "/" }

// put plans an upload and returns its address.
func (s *stage) put(section, n, name string, content []byte) (string, error) {
	if s.root == "" {
		return "", param.Errorf("Please configure a S3 'staging' directory")
	}
	uri := fmt.Sprintf("%s%s/%s/%d/%s", s.folder(), section, n, len(s.uploads), name)
	s.uploads = append(s.uploads, upload{uri, content})
	return uri, nil
}

// share plans an upload of one of zerodag's own files, once.
func (s *stage) share(name string, content []byte) (string, error) {
	if uri, known := s.shared[name]; known {
		return uri, nil
	}
	uri, err := s.put("shared", "scripts", name, content)
	s.shared[name] = uri
	return uri, err
}

// file is a reference to a file: on S3, or in the project.
type file struct {
	uri  string // on S3, "" for a project file
	name string // without folders
	path string // in the project
}

// reference reads a file reference; an address that begins with s3: is used directly.
func (s *stage) reference(key, text string) (file, error) {
	if strings.HasPrefix(text, "s3:") {
		if strings.HasSuffix(text, "/") {
			return file{}, param.Errorf("Invalid %s: '%s'", key, text)
		}
		return file{uri: text, name: path.Base(text)}, nil
	}
	name, err := s.task.FileName(text)
	if err != nil {
		return file{}, err
	}
	return file{name: path.Base(name), path: name}, nil
}

// upload makes sure that a file is on S3 and returns its address.
func (s *stage) upload(f file, section, n string, template bool) (string, error) {
	if f.uri != "" {
		return f.uri, nil
	}
	content, err := s.task.Files.Read(f.path)
	if err != nil {
		return "", s.task.FileError(f.path, err)
	}
	if template {
		text, err := s.task.Template(string(content))
		if err != nil {
			return "", param.Errorf("%v in %s", err, f.path)
		}
		content = []byte(text)
	}
	return s.put(section, n, f.name, content)
}

// value returns a string from a command for the program on the cluster: plain, or encrypted if it contains a secret.
// parameter is the text before evaluation.
func (s *stage) value(parameter, text string) (*param.Map, error) {
	if !operators.HasSecret(text) {
		return param.New("type", "plain", "value", text), nil
	}
	open, err := s.task.SecretPart(parameter, text)
	if err != nil {
		return nil, err
	}
	s.seals = true
	return param.New("type", "kms_encrypted", "value", open), nil // sealed by seal
}

// seal encrypts the values of a configuration that hold secrets.
func (s *stage) seal(ctx context.Context, values ...param.Value) error {
	for _, v := range values {
		switch x := v.(type) {
		case []param.Value:
			if err := s.seal(ctx, x...); err != nil {
				return err
			}
		case *param.Map:
			kind, _ := x.Get("type")
			text, isText := x.Get("value")
			open, _ := text.(string)
			if kind != "kms_encrypted" || !isText {
				for _, e := range x.All() {
					if err := s.seal(ctx, e); err != nil {
						return err
					}
				}
				continue
			}
			out, err := s.encrypt(ctx, &kms.EncryptInput{KeyId: &s.key, Plaintext: []byte(open)})
			if err != nil {
				return aws.Call{Operator: "emr", Doing: "encrypt a secret with the key " + s.key, Needs: "kms:Encrypt"}.Failure(ctx, err)
			}
			x.Set("value", base64.StdEncoding.EncodeToString(out.CiphertextBlob))
		}
	}
	return nil
}

// bucket splits an address on S3.
func bucket(uri string) (string, string) {
	name, key, _ := strings.Cut(strings.TrimPrefix(uri, "s3://"), "/")
	return name, key
}

// send performs the uploads.
func (s *stage) send(ctx context.Context, client *s3.Client) error {
	for _, u := range s.uploads {
		name, key := bucket(u.uri)
		_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &name, Key: &key, Body: bytes.NewReader(u.content)})
		if err != nil {
			return aws.Call{Operator: "emr", Doing: "stage " + u.uri, Needs: "s3:PutObject below 'staging'"}.Failure(ctx, err)
		}
	}
	return nil
}

// clear deletes the files that this try has staged. Files that cannot be deleted are left and logged: they are not a
// reason to fail a task whose work is done.
func (s *stage) clear(ctx context.Context, client *s3.Client) {
	if s.root == "" || len(s.uploads) == 0 {
		return
	}
	name, prefix := bucket(s.folder())
	for pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &name, Prefix: &prefix}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err == nil && len(page.Contents) > 0 {
			list := make([]types.ObjectIdentifier, len(page.Contents))
			for i, o := range page.Contents {
				list[i].Key = o.Key
			}
			_, err = client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &name, Delete: &types.Delete{Objects: list, Quiet: new(true)}})
		}
		if err != nil {
			s.task.Log.Line(operators.Warn, "EmrOperator", "Staged files were left in "+s.folder()+": "+err.Error())
			return
		}
	}
}

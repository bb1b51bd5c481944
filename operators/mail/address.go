package mail

import (
	"net/mail"
	"strings"

	"zerodag/engine/param"
)

// address is a mailbox, with the name before it or "".
type address struct{ name, mailbox string }

// header is the address as a message shows it: the name in quotes only where it must be,
// as the original's library writes it.
func (a address) header() string {
	special := func(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune("()<>@,;:\\\".[]", c) }
	switch {
	case a.name == "":
		return a.mailbox
	case !strings.ContainsFunc(a.name, special):
		return a.name + " <" + a.mailbox + ">"
	}
	return (&mail.Address{Name: a.name, Address: a.mailbox}).String()
}

// parseAddress reads "a@example.com" or "Name <a@example.com>"; a bare name of a local
// mailbox is allowed.
func parseAddress(text string) (address, error) {
	if a, err := mail.ParseAddress(text); err == nil {
		return address{a.Name, a.Address}, nil
	}
	if text != "" && !strings.ContainsAny(text, " \t\r\n<>@,;:\"()[]\\") {
		return address{"", text}, nil
	}
	return address{}, param.Errorf("Invalid address: %s", text)
}

// addresses reads a list of addresses.
func addresses(key string, v param.Value) ([]address, error) {
	list, err := param.AsList(key, v)
	if err != nil {
		return nil, err
	}
	found := make([]address, len(list))
	for i, e := range list {
		text, err := param.AsString(key, e)
		if err != nil {
			return nil, err
		}
		if found[i], err = parseAddress(text); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// oneOrMore reads an address or a list of them.
func oneOrMore(key string, v param.Value) ([]address, error) {
	if _, isList := v.([]param.Value); !isList {
		v = []param.Value{v}
	}
	return addresses(key, v)
}

// foldAt is the column after which an address goes to a new line.
const foldAt = 76

// addressList is the value of an address header, folded; used columns are taken already.
func addressList(list []address, used int) string {
	var b strings.Builder
	for i, a := range list {
		text := a.header()
		if i > 0 {
			b.WriteByte(',')
			used += 2
			if used+len(text) > foldAt {
				b.WriteString("\r\n\t")
				used = 8
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(text)
		used += len(text)
	}
	return b.String()
}

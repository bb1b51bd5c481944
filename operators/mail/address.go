package mail

import (
	"net/mail"
	"strconv"
	"strings"

	"zerodag/engine/param"
)

// address is a mailbox, with the name before it or "".
type address struct{ name, mailbox string }

// header returns the address as a message shows it: the name in quotes only if necessary, as Digdag's library writes
// it.
func (a address) header() string {
	switch {
	case a.name == "":
		return a.mailbox
	case !foldable(a.name):
		return encodedWords(a.name) + " <" + a.mailbox + ">"
	case strings.ContainsAny(a.name, "()<>@,;:\\\".[]"):
		return strconv.Quote(a.name) + " <" + a.mailbox + ">"
	}
	return a.name + " <" + a.mailbox + ">"
}

// headers returns the values of an address header.
func headers(list []address) []string {
	values := make([]string, len(list))
	for i, a := range list {
		values[i] = a.header()
	}
	return values
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

// oneOrMore reads an address or a list of addresses.
func oneOrMore(key string, v param.Value) ([]address, error) {
	if _, isList := v.([]param.Value); !isList {
		v = []param.Value{v}
	}
	return addresses(key, v)
}

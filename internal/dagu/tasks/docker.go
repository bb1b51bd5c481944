package tasks

import (
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
)

// Docker returns a container's image and options, and the variables for its commands.
func Docker(t references.Translator, c *param.Map) (docker, env *param.Map) {
	env = param.New()
	image := document.Text(c, "image")
	if image == "" {
		t.Refuse(c, "image", "name an image; each command runs in a new container",
			"commands cannot run in an existing container")
		return nil, env
	}
	docker = param.New("image", t.Plain(c, "image", image))
	var options []param.Value
	for key, v := range c.All() {
		switch key {
		case "image", "working_dir": // the command changes into the folder
		case "env":
			for name, v := range document.Entries(c).All() {
				env.Set(name, t.Plain(c, "env", document.TextOf(v)))
			}
		case "volumes", "ports", "host", "network", "user", "platform":
			options = append(options, containerOptions(t, c, key)...)
		case "pull_policy", "pull":
			if v == "always" || v == true {
				docker.Set("pull_always", true)
			}
		case "auto_remove", "keep_container", "container_name", "name":
			if key == "container_name" && v != "" {
				t.Note(c, key, "remove it if no other program needs it", false, "the container is not named %s",
					document.TextOf(v))
			}
		default:
			t.Refuse(c, key, "see `docker` on the page about commands", "%s of a container is not translated", key)
		}
	}
	if options != nil {
		docker.Set("run_options", options)
	}
	return docker, env
}

// containerOptions returns the options of `docker run` for a key of a container.
func containerOptions(t references.Translator, c *param.Map, key string) (options []param.Value) {
	name, values := "--"+key, []string{document.Text(c, key)}
	switch key {
	case "volumes":
		name, values = "--volume", document.Texts(c, key)
	case "ports":
		name, values = "--publish", document.Texts(c, key)
	case "host":
		host := c.Map(key)
		t.Only(host, "binds")
		name, values = "--volume", document.Texts(host, "binds")
	}
	for _, one := range values {
		options = append(options, name, t.Plain(c, key, one))
	}
	return options
}

package kinds

import (
	"fmt"
	"net/url"
)

// webhooks refuses URLs that a webhook configuration may not have.
func (r *Refusals) webhooks(o map[string]any) {
	for i, e := range ListAt(o, "webhooks") {
		w, _ := e.(map[string]any)
		config := ObjectAt(w, "clientConfig")
		if text, ok := config["url"].(string); ok {
			r.webhookURL(fmt.Sprintf("webhooks[%d].clientConfig.url", i), text)
		}
	}
}

func (r *Refusals) webhookURL(path, text string) {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		r.required(path, "url must be a valid URL: "+err.Error()+form)
		return
	}
	if u.Scheme != "https" {
		r.invalid(path, u.Scheme, "'https' is the only allowed URL scheme"+form)
	}
	if u.Host == "" {
		r.invalid(path, u.Host, "host must be specified"+form)
	}
	if u.User != nil {
		r.invalid(path, u.User.String(), "user information is not permitted in URLs")
	}
	if u.Fragment != "" {
		r.invalid(path, u.Fragment, "fragments are not permitted in URLs")
	}
	if u.RawQuery != "" {
		r.invalid(path, u.RawQuery, "query parameters are not permitted in URLs")
	}
}

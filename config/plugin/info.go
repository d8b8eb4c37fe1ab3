package plugin

import (
	"encoding/json"

	"github.com/listwatch/listwatch/codec"
)

// execInfo is the environment variable that holds the request for the command.
const execInfo = "KUBERNETES_EXEC_INFO"

// request is the ExecCredential that the command receives.
type request struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Spec       struct {
		Cluster     *clusterInfo `json:"cluster,omitempty"`
		Interactive bool         `json:"interactive"`
	} `json:"spec"`
}

type clusterInfo struct {
	Server             string          `json:"server"`
	TLSServerName      string          `json:"tls-server-name,omitempty"`
	Insecure           bool            `json:"insecure-skip-tls-verify,omitempty"`
	CAData             []byte          `json:"certificate-authority-data,omitempty"` // base64
	ProxyURL           string          `json:"proxy-url,omitempty"`
	DisableCompression bool            `json:"disable-compression,omitempty"`
	Config             json.RawMessage `json:"config,omitempty"`
}

// info returns the value of execInfo.
func (o *Options) info(interactive bool) (string, error) {
	r := request{Kind: kind, APIVersion: o.APIVersion}
	r.Spec.Interactive = interactive
	if o.Cluster != nil {
		info := clusterInfo(*o.Cluster)
		r.Spec.Cluster = &info
	}
	b, err := codec.Encode(r)
	return string(b), err
}

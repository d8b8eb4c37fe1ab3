package view

import (
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// InVersion returns an object, nil for none, in another version for a webhook. It has all
// fields of b: kube-apiserver does not prune it by the schema of the version.
func InVersion(b []byte, to kube.Resource) []byte {
	if b == nil {
		return nil
	}
	v := object.DecodeValue(b)
	switch {
	case to.Plural != kube.Events.Plural:
	case to.Group == kube.Events.Group:
		v = EventToCore(v)
	case to.Group == "events.k8s.io":
		v = eventFromCore(v)
	}
	v["apiVersion"] = to.APIVersion()
	return object.Marshal(v)
}

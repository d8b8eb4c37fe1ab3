// Package webhook calls the admission webhooks that are configured through the API,
// over HTTPS and with admission.k8s.io/v1, as kube-apiserver does; see
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/.
// Their clientConfig must have a url: there are no services here. Their matchConditions are
// in CEL and not evaluated: a webhook is called as if they were true.
package webhook

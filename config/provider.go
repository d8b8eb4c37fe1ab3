package config

import "fmt"

// ProviderError means that the user entry has an auth-provider, the predecessor of exec
// plugins that was built into clients.
type ProviderError struct {
	User     string // name of the user's entry
	File     string // the kubeconfig that holds it
	Provider string // such as gcp
}

// Error names the user, the file and the provider, and the plugin to use instead.
func (e *ProviderError) Error() string {
	return fmt.Sprintf("user %s in %s takes its credentials from the auth-provider %s, which is not supported; %s, or give --token",
		quote(e.User), e.File, quote(e.Provider), e.instead())
}

func (e *ProviderError) instead() string {
	switch e.Provider {
	case "gcp":
		return "install gke-gcloud-auth-plugin and run: gcloud container clusters get-credentials CLUSTER"
	case "azure":
		return "install kubelogin (https://github.com/Azure/kubelogin) and run: kubelogin convert-kubeconfig"
	case "oidc":
		return "install the plugin oidc-login (https://github.com/int128/kubelogin) and run: kubectl oidc-login setup"
	}
	return "write an exec entry for the credential plugin of your provider in its place"
}

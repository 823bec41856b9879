// Package fetch makes HTTP requests for clients, from where the executor is.
//
// # Life of a request
//
// [Connection.Begin] checks a request and reserves what it takes,
// [Exchange.Do] carries it out, and [Exchange.Sent] says that the answer is on its
// way: it starts the stream of the body, if there is to be one, and gives back
// what was reserved. Each is called once, in this order; Sent also if Do failed.
//
// # What must not be reached
//
// [Config.Deny] is asked about the name in a URL before it is looked up, and about
// each address before it is connected to, for every redirect again. There is no
// time between that check and the connection in which a name could come to mean
// something else. What goes through a proxy is judged by the name or address in
// the URL alone: the proxy looks it up. The proxy itself is the operator's choice
// and is not judged.
//
// # Secrets
//
// What a header takes from the executor's environment is in no error and no log,
// and a redirect to another origin does not get it. Neither do logs and errors
// tell who asks (the user:password of a URL), nor do logs tell URLs.
//
// # Ownership
//
// Each connection has its own sockets to origins: what one client has made of
// them, another one does not inherit. [Connection.Close] ends them all, with all
// goroutines that it started.
package fetch

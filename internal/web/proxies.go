package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Proxies knows which peers may forward requests for others, and the public address of the service. A nil *Proxies trusts proxies on
// this machine and has no public address.
type Proxies struct {
	trusted  []netip.Prefix
	baseURL  string
	baseHost string
}

// NewProxies takes the trusted proxies, as addresses or CIDR ranges, and the public base URL, "" to go by the Host
// header. Without any, proxies on this machine are trusted; the single word "none" trusts no proxy.
func NewProxies(trusted []string, baseURL string) (*Proxies, error) {
	p := new(Proxies)
	switch {
	case len(trusted) == 0:
		trusted = []string{"127.0.0.0/8", "::1"}
	case len(trusted) == 1 && trusted[0] == "none":
		trusted = nil
	}
	for _, text := range trusted {
		prefix, err := parsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("trusted proxy %q is neither an address nor a range such as 10.0.0.0/8", text)
		}
		p.trusted = append(p.trusted, prefix)
	}
	if baseURL != "" {
		u, err := url.Parse(baseURL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || !validHost(u.Host) ||
			u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("base URL %q is not an address such as https://donors.example.org", baseURL)
		}
		p.baseURL, p.baseHost = strings.TrimRight(baseURL, "/"), u.Hostname()
	}
	return p, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

func (p *Proxies) trusts(addr netip.Addr) bool {
	if p == nil {
		return addr.IsLoopback()
	}
	return slices.ContainsFunc(p.trusted, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

func (p *Proxies) trustsPeer(r *http.Request) bool { return p.trusts(peer(r)) }

// peer is the other end of the connection, or the zero address if it has none.
func peer(r *http.Request) netip.Addr {
	addr, _ := netip.ParseAddrPort(r.RemoteAddr)
	return addr.Addr().Unmap().WithZone("")
}

// addrOf is the address of a connection's end, or the zero address if it is not TCP.
func addrOf(end net.Addr) netip.Addr {
	tcp, ok := end.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

// Client is the address a request comes from: the peer, or what trusted proxies say. It is the zero address if they say something
// that is not an address.
func (p *Proxies) Client(r *http.Request) netip.Addr {
	client, lines := peer(r), r.Header["X-Forwarded-For"]
	list, more := strings.Join(lines, ","), len(lines) > 0
	// Every proxy appends the address it talked to. So the list is true from its right end up to the first address that is not
	// one of our proxies; any client could have written what is left of that.
	for more && p.trusts(client) {
		comma := strings.LastIndexByte(list, ',')
		client, more = parseForwarded(list[comma+1:]), comma >= 0
		list = list[:max(comma, 0)]
	}
	return client
}

// parseForwarded reads an entry of X-Forwarded-For; some proxies add a port.
func parseForwarded(text string) netip.Addr {
	text = strings.TrimSpace(text)
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		withPort, _ := netip.ParseAddrPort(text)
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone("")
}

// arrivedOverHTTPS tells whether the client used HTTPS, to us or to a trusted proxy.
func (p *Proxies) arrivedOverHTTPS(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	said := r.Header["X-Forwarded-Proto"]
	if len(said) == 0 || !p.trustsPeer(r) {
		return false
	}
	for _, line := range said {
		for proto := range strings.SplitSeq(line, ",") {
			if !strings.EqualFold(strings.TrimSpace(proto), "https") {
				return false // a part of the way was plain HTTP
			}
		}
	}
	return true
}

// FromThisMachine tells whether a request was sent by a program on this machine to this machine: over a loopback
// connection, to a loopback name, and not by way of a proxy. A proxy on this machine may forward without saying for
// whom, so that a request with any sign of one, or to a public name, could come from anywhere.
func FromThisMachine(r *http.Request) bool {
	if !peer(r).IsLoopback() || !isLoopbackName(r.Host) {
		return false
	}
	for name := range r.Header {
		if IsForwarding(name) {
			return false
		}
	}
	return true
}

// IsForwarding tells whether a header is one that proxies add.
func IsForwarding(name string) bool {
	switch name {
	case "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded")
}

// isLoopbackName tells whether a Host header names this machine and no other one.
func isLoopbackName(host string) bool {
	colon := strings.LastIndexByte(host, ':')
	if colon >= 0 && (strings.IndexByte(host, ':') == colon || host[colon-1] == ']') {
		host = host[:colon] // net.SplitHostPort would allocate an error for a host without a port
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// Scheme is the one that the client used: http or https.
func (p *Proxies) Scheme(r *http.Request) string {
	if p.arrivedOverHTTPS(r) {
		return "https"
	}
	return "http"
}

// BaseURL is the beginning of public links, without a slash at the end: the setting, or else the address that the client used.
func (p *Proxies) BaseURL(r *http.Request) string {
	if p != nil && p.baseURL != "" {
		return p.baseURL
	}
	host := r.Host
	if host == "" { // HTTP/1.0 needs no Host
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			host = local.String()
		}
	}
	return p.Scheme(r) + "://" + host
}

// BaseHost is the host name of the base URL, "" without one. The server's own certificate includes it.
func (p *Proxies) BaseHost() string {
	if p == nil {
		return ""
	}
	return p.baseHost
}

// validHost allows only the characters of host names, addresses and ports into links.
func validHost(host string) bool {
	for i := range len(host) {
		switch c := host[i]; {
		case isLetterOrDigit(c), c == '.', c == '-', c == '_', c == ':', c == '[', c == ']':
		default:
			return false
		}
	}
	return true
}

// isPublicName tells whether Strict-Transport-Security makes sense: browsers remember it by name, and localhost is a name that
// many servers share.
func isPublicName(host string) bool {
	if strings.HasPrefix(host, "[") {
		return false
	}
	if i := strings.IndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return false
	}
	last := host[len(host)-1]
	return last < '0' || last > '9' // no top-level domain ends in a digit, every IPv4 address does
}

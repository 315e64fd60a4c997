package access

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestANewUserIsToldEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   UserInput
		want []crmtest.Said
	}{
		{UserInput{" Ada ", " Ada@Example.org ", "ten chars!"}, nil},
		{UserInput{}, []crmtest.Said{
			{"name", "The name field is required."}, {"email", "The email field is required."}, {"password", "The password field is required."},
		}},
		{UserInput{"a\x00b", "nobody", "short"}, []crmtest.Said{
			{"name", "The name field must not contain NUL characters."}, {"email", "The email field must be a valid email address."},
			{"password", "The password field must have at least 10 characters."},
		}},
		{UserInput{strings.Repeat("ü", 256), "a@b.org", "A@B.ORG"}, []crmtest.Said{
			{"name", "The name field must not be longer than 255 characters."}, {"password", "The password field must have at least 10 characters."},
		}},
	} {
		in := test.in
		assert.Equal(t, crmtest.FaultsOf(t, in.Validate()), test.want, "%.40q", test.in)
		if in.Name != strings.TrimSpace(test.in.Name) || in.Email != strings.TrimSpace(test.in.Email) || in.Password != test.in.Password {
			t.Errorf("%.40q became %.40q", test.in, in)
		}
	}
}

func TestTheFirstUserNamesAnOrganizationOrTakesOne(t *testing.T) {
	t.Parallel()
	known := []Account{{ID: "AAAAAAAAAAAAAAAA"}, {ID: "BBBBBBBBBBBBBBBB"}}
	for _, test := range []struct {
		organization, account string
		want                  []crmtest.Said
	}{
		{"Harbor Light", "", nil},
		{"", "BBBBBBBBBBBBBBBB", nil},
		{" ", "", []crmtest.Said{{"organization", "The organization field is required."}}},
		{"Harbor Light", "CCCCCCCCCCCCCCCC", []crmtest.Said{{"organization", "The organization field must be an organization without contacts, or the name of a new one. " +
			"For an organization with contacts, the server's administrator creates the first owner with donorbook user create."}}},
	} {
		in := SetupInput{UserInput{"Ada", "a@b.org", "ten chars!"}, test.organization, test.account, "", false}
		assert.Equal(t, crmtest.FaultsOf(t, in.Validate(known)), test.want, "%q, %q", test.organization, test.account)
		taken, ok := in.Taken(known)
		if ok != (test.account == "BBBBBBBBBBBBBBBB") || ok && taken != known[1] {
			t.Errorf("%q takes %+v", test.account, taken)
		}
	}
	in := SetupInput{}
	if faults := crmtest.FaultsOf(t, in.Validate(nil)); len(faults) != 4 || faults[3].Field() != "organization" {
		t.Errorf("the faults are %v", faults)
	}
}

func TestASessionEndsThirtyDaysAfterItBeganAndSevenAfterItsLastUse(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	session, token := NewSession(Device{Address: "192.0.2.1", Agent: "Browser\x00\x1b[31m \xff" + strings.Repeat("é", 300)}, noon)
	if session.ID != HashToken(token) || strings.Contains(session.ID, token) {
		t.Errorf("the id is %s", session.ID)
	}
	if runes := []rune(session.Device.Agent); len(runes) != 255 || !strings.HasPrefix(session.Device.Agent, "Browser[31m é") {
		t.Errorf("the browser is called %q", session.Device.Agent)
	}
	for _, test := range []struct {
		seen, at time.Duration
		want     bool
	}{
		{0, 0, true}, {0, 7*day - time.Second, true}, {0, 7 * day, false},
		{25 * day, 30*day - time.Second, true}, {25 * day, 30 * day, false}, {22 * day, 29 * day, false},
	} {
		session.SeenAt = noon.Add(test.seen)
		assert.Equal(t, session.Valid(noon.Add(test.at)), test.want,
			"used after %v, it is valid after %v", test.seen, test.at)
	}
}

func TestAnInvitationHasAWeekAndARole(t *testing.T) {
	t.Parallel()
	account, by := Account{Number: 7, Name: "Harbor Light"}, User{ID: 1, Name: "Ada"}
	invitation, token, err := NewInvitation(account, by, Editor, " Bob@Example.org ", noon)
	want := Invitation{ID: HashToken(token), Account: account, Email: "Bob@Example.org", Role: Editor, By: "Ada", CreatedAt: noon, ExpiresAt: noon.AddDate(0, 0, 7)}
	if diff := cmp.Diff(want, invitation); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if end := invitation.ExpiresAt; !invitation.Valid(end.Add(-time.Second)) || invitation.Valid(end) {
		t.Error("it does not end after a week")
	}
	if setup, _ := NewSetup(noon); setup.ExpiresAt != noon.AddDate(0, 0, 1) || setup.Account.Number != 0 || setup.Role != 0 {
		t.Errorf("the setup link is %+v", setup)
	}
	if _, _, err := NewInvitation(account, by, Viewer, "", noon); err != nil {
		t.Errorf("for nobody in particular: %v", err)
	}
	for _, wrong := range []struct {
		role  Role
		email string
		field string
	}{{0, "", "role"}, {Owner + 1, "", "role"}, {Editor, "bob", "email"}} {
		_, token, err := NewInvitation(account, by, wrong.role, wrong.email, noon)
		if faults := crmtest.FaultsOf(t, err); token != "" || len(faults) != 1 || faults[0].Field() != wrong.field {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

func TestRolesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, role := range Roles {
		if got, err := ParseRole(role.String()); got != role || err != nil || role.Check() != nil {
			t.Errorf("%s is %v, %v", role, got, err)
		}
	}
	for _, wrong := range rows.All(`""  Owner  admin  none  0`) {
		if _, err := ParseRole(wrong); err == nil || err.Error() != "The role field must be one of owner, editor, viewer." {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if !(Viewer < Editor && Editor < Owner) || !slices.Equal(Roles, []Role{Owner, Editor, Viewer}) {
		t.Error("a role may not do what the one below it may")
	}
}

func TestTheLastOwnerStaysOwner(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		was, to Role
		owners  int64
		allowed bool
	}{
		{Owner, Editor, 1, false}, {Owner, 0, 1, false}, {Owner, Owner, 1, true}, {Owner, Viewer, 2, true}, {Owner, 0, 2, true},
		{Editor, 0, 1, true}, {Viewer, Owner, 1, true},
	} {
		if err := test.was.CheckChange(test.to, test.owners); (err == nil) != test.allowed {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestTokensAreLongAndNeverTheSame(t *testing.T) {
	t.Parallel()
	token, hash := NewToken()
	other, _ := NewToken()
	if len(token) != 43 || strings.ContainsAny(token, "+/=") || token == other {
		t.Errorf("the tokens are %s and %s", token, other)
	}
	if hash != HashToken(token) || !IsHash(hash) || IsHash(token) || IsHash(strings.ToUpper(hash)) || IsHash(hash+"0") || IsHash(hash[:63]+"\x00") {
		t.Errorf("the hash is %s", hash)
	}
	assert.Equal(t, HashToken("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"the hash of abc")
}

func TestNamesAreOrderedAsPeopleLookForThem(t *testing.T) {
	t.Parallel()
	names := rows.All(`zoe  Émile  ada  Ada  Ella  Eduard`)
	slices.SortFunc(names, CompareNames)
	if want := rows.All(`Ada  ada  Eduard  Ella  Émile  zoe`); !slices.Equal(names, want) {
		t.Errorf("the order is %q", names)
	}
}

func TestAnAccountIDIsSixteenLettersAndDigits(t *testing.T) {
	t.Parallel()
	a, err := NewAccount("A", Account{}, noon)
	if err != nil || !IsAccountID(a.ID) {
		t.Errorf("%q is no id, %v", a.ID, err)
	}
	for _, wrong := range []string{"", "short", a.ID + "x", a.ID[:15] + "\x00", a.ID[:7] + "-" + a.ID[:8]} {
		if IsAccountID(wrong) {
			t.Errorf("%q is an id", wrong)
		}
	}
}

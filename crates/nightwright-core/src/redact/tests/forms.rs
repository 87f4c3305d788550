//! Secrets as people and programs write them, and lines that only look like them.
//!
//! Each form is assembled from pieces, so that secret scanners do not report this file.

use super::written::everywhere;
use super::*;

/// A secret between the text before it and the text after it.
type Form = (&'static str, String, &'static str);

/// Letters and digits in a fixed order that look random.
fn random(length: usize) -> String {
    signs(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", length)
}

fn signs(alphabet: &[u8], length: usize) -> String {
    let letter = |at: usize| {
        char::from(alphabet[(at * at * 7 + at * 31 + length * 13 + 5) % alphabet.len()])
    };
    (0..length).map(letter).collect()
}

fn hex(length: usize) -> String {
    signs(b"0123456789abcdef", length)
}

fn capitals(length: usize) -> String {
    signs(b"A3BC5DEF7GH2IJ4KLMN6OPQRSTUVWXYZ", length)
}

fn tokens() -> Vec<Form> {
    let token = |start: &str, rest: String| ("use ", format!("{start}{rest}"), " now");
    vec![
        token("sk-ant-api03-", random(93)),
        token("sk-ant-oat01-", random(90)),
        token("sk-proj-", random(60)),
        token("sk-svcacct-", random(60)),
        token("sk-", random(48)),
        token("sk-or-v1-", hex(64)),
        token("sk_live_", random(24)),
        token("sk_test_", random(24)),
        token("rk_live_", random(24)),
        token("rk_test_", random(24)),
        token("whsec_", random(32)),
        token("ghp_", random(36)),
        token("gho_", random(36)),
        token("ghs_", random(36)),
        token("ghu_", random(36)),
        token("ghr_", random(76)),
        token("github_pat_", format!("{}_{}", random(22), random(59))),
        token("glpat-", random(20)),
        token("gldt-", random(20)),
        token("glrt-", random(20)),
        token("glptt-", hex(40)),
        token("xoxb-", format!("123456789012-123456789012-{}", random(24))),
        token("xoxp-", format!("123456789012-{}", random(24))),
        token("xoxe.xoxp-1-", random(140)),
        token("xapp-1-A", format!("{}-1234567890123-{}", capitals(10), hex(64))),
        token("AKIA", capitals(16)),
        token("ASIA", capitals(16)),
        token("ABSK", random(120)),
        token("AIza", random(35)),
        token("ya29.", random(160)),
        token("GOCSPX-", random(28)),
        token("eyJ", format!("{}.eyJ{}.{}", random(33), random(60), random(43))),
        token("npm_", random(36)),
        token("pypi-AgEIcHlwaS5vcmc", random(120)),
        token("rubygems_", hex(48)),
        token("dckr_pat_", random(27)),
        token("dckr_oat_", random(32)),
        token("hf_", random(34)),
        token("SG.", format!("{}.{}", random(22), random(43))),
        token("xkeysib-", format!("{}-{}", hex(64), random(16))),
        token("dop_v1_", hex(64)),
        token("doo_v1_", hex(64)),
        token("HRKU-", random(60)),
        token("nfp_", random(36)),
        token("rnd_", random(32)),
        token("pscale_tkn_", random(43)),
        token("dp.pt.", random(43)),
        token("dp.st.dev.", random(43)),
        token("hvs.", random(90)),
        token("hvb.", random(90)),
        ("", format!("{}.atlasv1.{}", random(14), random(67)), ""),
        token("pul-", hex(40)),
        token("dapi", hex(32)),
        token("glc_", random(120)),
        token("glsa_", format!("{}_{}", random(32), hex(8))),
        token("NRAK-", capitals(27)),
        token("sntrys_", random(100)),
        token("phx_", random(43)),
        token("lin_api_", random(40)),
        token("ntn_", random(46)),
        token("figd_", random(40)),
        token("ATATT3xFfGF0", random(180)),
        token("shpat_", hex(32)),
        token("gsk_", random(52)),
        token("xai-", random(80)),
        token("pplx-", random(48)),
        token("pcsk_", random(70)),
        token("nvapi-", random(64)),
        token("tskey-auth-", format!("{}-{}", random(12), random(32))),
        token("sbp_", hex(40)),
        token("sb_secret_", random(31)),
        token("AGE-SECRET-KEY-1", capitals(58)),
        token("123456789:AAE", random(32)),
        token("abc8Q~", random(34)),
        (
            "https://hooks.slack.com/",
            format!("services/T{}/B{}/{}", capitals(8), capitals(8), random(24)),
            "",
        ),
        ("https://discord.com/api/webhooks/", format!("123456789012345678/{}", random(68)), ""),
        ("https://discord.com/api/v10/webhooks/", format!("123456789012345678/{}", random(68)), ""),
    ]
}

fn assignments() -> Vec<Form> {
    let (typed, key) = ("correcthorse99".to_owned(), random(40));
    let typed = |before, after| (before, typed.clone(), after);
    let key = |before, after| (before, key.clone(), after);
    vec![
        typed("DB_PASSWORD=", ""),
        typed("DB_PASS=", ""),
        typed("PGPASSWORD=", " psql -h db"),
        typed("MYSQL_PWD=", " mysql"),
        ("ADMIN_PASSWORD=", "correcthorse".to_owned(), ""),
        key("export SECRET_KEY=", ""),
        key("API_TOKEN=\"", "\""),
        key("STRIPE_SECRET='", "'"),
        key("AWS_SECRET_ACCESS_KEY=", ""),
        key("NPM_TOKEN=", " npm publish"),
        key("APIKEY=", ""),
        key("SENTRY_AUTH_TOKEN = ", ""),
        key("ENV API_KEY=", ""),
        key("//registry.npmjs.org/:_authToken=", ""),
        key("_auth = ", ""),
        key("aws_secret_access_key = ", ""),
        key("aws_session_token=", ""),
        typed("spring.datasource.password=", ""),
        typed("password = \"", "\""),
        key("const apiKey = '", "';"),
        key("api_key: str = os.getenv('X') or token=\"", "\""),
        key("client_secret := \"", "\""),
        typed("$password = '", "';"),
        typed("'password' => '", "',"),
        key("setenv(\"API_TOKEN\", \"", "\", 1);"),
        typed("config[\"password\"] = \"", "\""),
        typed("password: ", ""),
        typed("  password: \"", "\""),
        key("api_key: \"", "\""),
        key("    oauth_token: ", ""),
        key("token: ", ""),
        key("client-key-data: ", ""),
        key("      - SECRET_TOKEN=", ""),
        typed("<password>", "</password>"),
        typed("Server=db;Database=x;User Id=me;Password=", ";"),
        typed("Server=db;Uid=me;Pwd=", ""),
        key("AccountName=a;AccountKey=", ";EndpointSuffix=x"),
        key("SharedAccessKeyName=a;SharedAccessKey=", ""),
        typed("host=db user=me password=", " dbname=x"),
        typed("jdbc:postgresql://db/x?user=me&password=", "&ssl=true"),
    ]
}

fn json_members() -> Vec<Form> {
    let (typed, key) = ("correcthorse99".to_owned(), random(40));
    let typed = |before, after| (before, typed.clone(), after);
    let key = |before, after| (before, key.clone(), after);
    vec![
        typed("{\"password\":\"", "\"}"),
        key("{\"apiKey\": \"", "\"}"),
        key("{\"auth\":{\"access_token\":\"", "\",\"expires_in\":3600}}"),
        key("  \"client_secret\": \"", "\","),
        key("{\"auths\":{\"ghcr.io\":{\"auth\":\"", "\"}}}"),
        key("{\"name\":\"DB_PASSWORD\",\"value\":\"", "\"}"),
        key("{\"refreshToken\": \"", "\"}"),
        key("{\"private-token\":\"", "\"}"),
        typed("{\"DB_PASSWORD\":\"", "\"}"),
        key("{'token': '", "'}"),
    ]
}

fn headers() -> Vec<Form> {
    let key = random(40);
    let key = |before, after| (before, key.clone(), after);
    vec![
        key("Authorization: Bearer ", ""),
        key("\"authorization\": \"Bearer ", "\""),
        key("Authorization: Token ", ""),
        key("Authorization: Basic ", ""),
        key("Proxy-Authorization: Basic ", ""),
        key("X-Api-Key: ", ""),
        key("api-key: ", ""),
        key("X-Auth-Token: ", ""),
        key("X-Vault-Token: ", ""),
        key("PRIVATE-TOKEN: ", ""),
        key("Ocp-Apim-Subscription-Key: ", ""),
        key("Cookie: theme=dark; session=", "; lang=en"),
        key("Set-Cookie: sid=", "; Path=/; HttpOnly"),
    ]
}

fn addresses() -> Vec<Form> {
    let (typed, key) = ("correcthorse99".to_owned(), random(40));
    let typed = |before, after| (before, typed.clone(), after);
    let key = |before, after| (before, key.clone(), after);
    vec![
        typed("https://me:", "@host.example/x"),
        typed("postgres://me:", "@db:5432/x"),
        typed("redis://:", "@cache:6379"),
        key("https://", "@github.com/x/y"),
        key("https://x-access-token:", "@github.com/x/y"),
        key("https://host.example/x?token=", "&page=2"),
        key("https://host.example/x?page=2&api_key=", ""),
        key("https://host.example/cb#access_token=", "&state=1"),
        key("https://host.example/f?sv=2022&sig=", "&se=1"),
        key("https://s3.example/f?X-Amz-Signature=", ""),
        typed("jdbc:oracle:thin:me/", "@db:1521/x"),
    ]
}

fn command_lines() -> Vec<Form> {
    let (typed, key) = ("correcthorse99".to_owned(), random(40));
    let typed = |before, after| (before, typed.clone(), after);
    let key = |before, after| (before, key.clone(), after);
    vec![
        typed("machine api.example login me password ", ""),
        typed("  password ", ""),
        typed("curl -u me:", " https://host.example"),
        typed("curl -ume:", " https://host.example"),
        typed("curl --user \"me:", "\" https://host.example"),
        typed("curl --user=me:", " https://host.example"),
        typed("mysql -h db -p", " app"),
        typed("sshpass -p ", " ssh me@host.example"),
        typed("docker login -u me -p ", " ghcr.io"),
        typed("redis-cli -a ", " ping"),
        typed("openssl rsa -passin pass:", " -in key.pem"),
        key("tool --token ", " --verbose"),
        key("tool --token=", ""),
        key("tool --api-key ", ""),
        typed("tool --password ", " x"),
        key("aws configure set aws_secret_access_key ", ""),
    ]
}

/// Forms that were collected without a look at the rules: the group, what precedes the secret, the
/// secret, and what follows it. Dots divide each secret into pieces, so that secret scanners do not
/// report the file. The last group, `limit`, shows what the rules do not recognize.
fn collected(are_masked: bool) -> Vec<Form> {
    let forms = include_str!("forms.txt").lines().map(|line| {
        let parts: Vec<_> = line.split('\t').collect();
        let [group, before, secret, after] = parts[..] else { panic!("{line}") };
        (group != "limit", (before, secret.replace('·', ""), after))
    });
    forms.filter(|(is_masked, _)| *is_masked == are_masked).map(|(_, form)| form).collect()
}

#[test]
fn the_limits_of_the_rules_are_up_to_date() {
    let secrets = Secrets::default();
    for (before, secret, after) in collected(false) {
        let text = format!("{before}{secret}{after}");
        assert!(secrets.mask(&text).contains(&secret), "move it to another group: {text}");
    }
}

#[test]
fn collected_forms_are_masked_in_text_in_json_and_in_chunks() {
    let secrets = Secrets::default();
    let forms = collected(true);
    assert!(forms.len() >= 390, "{}", forms.len());
    let mut shown = Vec::new();
    for (before, secret, after) in forms {
        let mut text = format!("{before}{secret}{after}");
        for depth in 0..3 {
            let written = json!(secret).to_string();
            let written = if depth == 0 { &secret } else { written.trim_matches('"') };
            let masked = secrets.mask(&text).into_owned();
            if masked.contains(written) || masked.len() != text.len() {
                shown.push(format!("{depth}: {masked}"));
            }
            for size in [1, 7, 1000] {
                let pieces = streamed(&secrets, text.as_bytes(), &[size]);
                assert_eq!(String::from_utf8(pieces).unwrap(), masked);
            }
            text = json!({ "text": text, "number": 12_345_678 }).to_string();
        }
    }
    assert!(shown.is_empty(), "{} forms:\n{}", shown.len(), shown.join("\n"));
}

#[test]
fn secrets_are_masked_in_every_form_and_encoding() {
    let secrets = Secrets::default();
    let forms: Vec<Form> =
        [tokens(), assignments(), json_members(), headers(), addresses(), command_lines()].concat();
    assert!(forms.len() >= 120, "{}", forms.len());
    let mut shown = Vec::new();
    for (before, secret, after) in forms {
        let text = format!("{before}{secret}{after}");
        let masked = secrets.mask(&text);
        if masked.contains(&secret) || !masked.ends_with(after) || !masked.starts_with(before) {
            shown.push(format!("{text}\n  -> {masked}"));
            continue;
        }
        everywhere(&secrets, &text, &secret);
        let red = format!("{before}\u{1b}[31m{secret}\u{1b}[0m{after}");
        if secrets.mask(&red).contains(&secret) {
            shown.push(red);
        }
    }
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}

#[test]
fn lines_without_secrets_stay() {
    let secrets = Secrets::default();
    let lines: Vec<&str> = include_str!("harmless.txt").lines().collect();
    assert!(lines.len() >= 200, "{}", lines.len());
    let mut changed = Vec::new();
    for line in lines {
        for text in [line.to_owned(), json!({ "text": line, "n": 1 }).to_string()] {
            let masked = secrets.mask(&text);
            if masked != text {
                changed.push(masked.into_owned());
            }
        }
    }
    assert!(changed.is_empty(), "{} lines:\n{}", changed.len(), changed.join("\n"));
}

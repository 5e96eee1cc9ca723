//! `--list-models`: what can be used now, as a table for people (`spec/cli.md` §2.1).

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use pier_bridge::Mode;
use pier_protocol::model::Model;

use crate::diagnostics;
use crate::host::ModeHost;
use crate::setup::{Boot, Surroundings};
use crate::signals::EarlySignals;

/// Time for extensions to end; nothing was started in them.
const CLEANUP_LIMIT: Duration = Duration::from_millis(1500);

/// Loads extensions, because they bring providers, and gives the table, or else the exit code: a
/// signal came, or the start failed and the reason was said on standard error.
///
/// # Errors
/// When the process cannot be set up: signals.
pub async fn models(
    boot: Boot,
    search: Option<&str>,
    signals: EarlySignals,
) -> std::io::Result<Result<String, i32>> {
    let mut signals = signals.listen()?;
    Ok(tokio::select! {
        table = load(boot, search) => table.ok_or(1),
        signal = signals.next() => Err(signal.exit_code()),
    })
}

async fn load(boot: Boot, search: Option<&str>) -> Option<String> {
    let host = ModeHost::new(
        |report| diagnostics::extension_error(&report),
        || Box::new(()),
    );
    let started = match boot
        .start(Surroundings {
            mode: Mode::Print,
            host,
            ui: None,
            ui_profile: serde_json::Value::Null,
        })
        .await
    {
        Ok(started) => started,
        Err(error) => {
            diagnostics::error(&error.to_string());
            return None;
        }
    };
    let table = table(&started.session.providers().available_models(), search);
    // The table is complete; what an extension does at its end cannot change it.
    let _ = tokio::time::timeout(CLEANUP_LIMIT, started.extensions.dispose()).await;
    Some(table)
}

fn table(models: &[Arc<Model>], search: Option<&str>) -> String {
    let search = search.unwrap_or_default().to_lowercase();
    let rows: Vec<[String; 5]> = models
        .iter()
        .filter(|model| {
            model.key().to_lowercase().contains(&search)
                || model.name.to_lowercase().contains(&search)
        })
        .map(|model| {
            [
                model.provider.clone(),
                model.id.clone(),
                tokens(model.context_window),
                tokens(model.max_tokens),
                if model.reasoning { "yes" } else { "no" }.to_owned(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return "No models match.\n".to_owned();
    }
    let head = ["provider", "model", "context", "max-out", "thinking"].map(str::to_owned);
    let all: Vec<_> = std::iter::once(&head).chain(&rows).collect();
    let width = |column: usize| {
        all.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let mut text = String::new();
    for row in all {
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(text, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{}", row[4]);
    }
    text
}

/// A number of tokens in thousands or millions; nothing when it is not known.
fn tokens(count: u64) -> String {
    match count {
        0 => "-".to_owned(),
        1..1000 => count.to_string(),
        1000..1_000_000 => format!("{}K", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pier_protocol::model::Model;

    use super::table;

    #[test]
    fn models_are_listed_in_columns_and_can_be_searched() {
        let model = |provider: &str, id: &str, context_window| {
            Arc::new(Model {
                provider: provider.into(),
                id: id.into(),
                context_window,
                ..Model::default()
            })
        };
        let models = [model("long-provider", "m", 200_000), model("p", "other", 0)];
        let text = table(&models, None);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(
            lines[1].contains("200K") && lines[2].contains(" - "),
            "{text}"
        );
        assert_eq!(table(&models, Some("OTHER")).lines().count(), 2);
        assert_eq!(table(&models, Some("zzz")), "No models match.\n");
    }
}

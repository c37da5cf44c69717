//! Quotas cross the border as text, which says them exactly and names what is wrong.

use crate::mistake;
use napi::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use tidegate::Quota;

/// The parts of one quota.
#[napi(object, object_from_js = false)]
pub struct QuotaParts {
    /// Canonical.
    pub text: String,
    pub limit: f64,
    pub period_ns: BigInt,
    pub burst: f64,
    pub algorithm: &'static str,
    pub anchor: &'static str,
}

impl From<&Quota> for QuotaParts {
    fn from(quota: &Quota) -> Self {
        Self {
            text: quota.to_string(),
            // Exact: limits and bursts are below 2⁵³.
            limit: quota.limit() as f64,
            period_ns: quota.period_ns().into(),
            burst: quota.burst() as f64,
            algorithm: quota.algorithm().name(),
            anchor: quota.anchor().name(),
        }
    }
}

#[napi(catch_unwind)]
pub fn parse_quota(text: String) -> Result<QuotaParts> {
    let quota: Quota = text.parse().map_err(mistake)?;
    Ok((&quota).into())
}

#[napi(catch_unwind)]
pub fn parse_quotas(text: String) -> Result<Vec<QuotaParts>> {
    Ok(Quota::parse_list(&text).map_err(mistake)?.iter().map(QuotaParts::from).collect())
}

/// The quotas that these texts say, one each.
pub(crate) fn read(texts: &[String]) -> Result<Vec<Quota>> {
    texts.iter().map(|text| text.parse().map_err(mistake)).collect()
}

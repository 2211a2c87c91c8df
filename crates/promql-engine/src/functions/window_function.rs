use super::window::{Window, seconds};
use super::{counter, integral, over_time, regression, smoothing};

/// A function of a window and of scalar parameters. It returns `None` if it has no result.
pub(crate) type WindowFunction = fn(&Window<'_>, &[f64]) -> Option<f64>;

/// The function of this name on a range of samples.
pub(crate) fn window_function(name: &str) -> Option<WindowFunction> {
    Some(match name {
        "rate" => |window, _| counter::rate(window),
        "increase" => |window, _| counter::increase(window),
        "delta" => |window, _| counter::delta(window),
        "irate" => |window, _| counter::instant_rate(window),
        "idelta" => |window, _| counter::instant_delta(window),
        "resets" => |window, _| Some(counter::resets(window)),
        "changes" => |window, _| Some(counter::changes(window)),
        "deriv" => |window, _| regression::derivative(window),
        "predict_linear" => |window, parameters| regression::predict(window, parameters[0]),
        "quantile_over_time" => |window, parameters| over_time::quantile(window, parameters[0]),
        "avg_over_time" => |window, _| over_time::mean(window),
        "sum_over_time" => |window, _| over_time::sum(window),
        "min_over_time" => |window, _| over_time::min(window),
        "max_over_time" => |window, _| over_time::max(window),
        "count_over_time" => |window, _| over_time::count(window),
        "stddev_over_time" => |window, _| over_time::deviation(window),
        "stdvar_over_time" => |window, _| over_time::variance(window),
        "integral" => |window, rule| integral::integral(window, rule.first().copied()),
        "mad_over_time" => |window, _| over_time::median_deviation(window),
        "ts_of_min_over_time" => |window, _| over_time::time_of(window, f64::le),
        "ts_of_max_over_time" => |window, _| over_time::time_of(window, f64::ge),
        "ts_of_first_over_time" => |window, _| window.timestamps.first().copied().map(seconds),
        "ts_of_last_over_time" => |window, _| window.timestamps.last().copied().map(seconds),
        "double_exponential_smoothing" => {
            |window, factors| smoothing::smooth(window.values, factors[0], factors[1])
        }
        "last_over_time" => |window, _| window.values.last().copied(),
        "first_over_time" => |window, _| window.values.first().copied(),
        "present_over_time" => |_, _| Some(1.0),
        _ => return None,
    })
}
